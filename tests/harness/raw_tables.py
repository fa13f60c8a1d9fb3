"""Raw tables as people have them, made up: each column says if it may be published at all."""

from __future__ import annotations

import random  # noqa: TID251 - made with the standard library alone
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

_POOLS = """\
Zofia Janusz Ewa Piotr Agata Marek Olga Tomasz Irena Lech Halina Bartek Alicja Roman Celina Igor Wanda Adam Lidia Karol
Wilczek Zawada Kmiec Rybak Sowa Mazur Dudek Bielak Tracz Kubiak Lis Gajda Wrona Szulc Bednarz Kania Marzec Olszak \
Pilch Reszka Skiba Turek Urban Wach Zając Baran Cebula Dziuba Figiel Grochal
김민준 이서연 박도윤 최지우 정하준 강서현 조은우 윤지호 장수아 임유진 한시우 오채원 서준호 신예은 권태양 황보라
王偉 李娜 張敏 劉洋 陳靜 楊磊 趙軍 黃麗 周強 吳艷 徐明 孫娟 馬超 朱婷 胡斌 郭芳 林峰 何潔
"""
FIRST, LAST, HANGUL, HAN = (line.split() for line in _POOLS.splitlines())
STREETS = ["Rua das Flores", "Avenida Central", "Travessa Nova", "Largo do Carmo", "Rua Direita", "Alameda Sul"]
REMARKS = [
    "seen by dr {last}, came with {first}; HIV pos.", "{first} asked for a second opinion", "moved from {street} 12",
    "called {last} twice, no answer",
]  # fmt: skip


@dataclass(frozen=True)
class RawColumn:
    """A column: its name, its cells, and True if a release may have it in some form."""

    name: str
    cells: list[str]
    publishable: bool


class Maker:
    """Draws the columns of one table; each person is a row."""

    def __init__(self, seed: int, rows: int) -> None:
        self.draw, self.rows, self.columns = random.Random(seed), rows, list[RawColumn]()
        self.risk = [self.draw.random() for _ in range(rows)]

    def add(self, name: str, publishable: bool, cell: Callable[[int], object], missing: float = 0.0) -> Maker:
        cells = ["" if self.draw.random() < missing else str(cell(row)) for row in range(self.rows)]
        self.columns.append(RawColumn(name, cells, publishable))
        return self

    def choice(self, name: str, words: str, slope: float = 1.0, missing: float = 0.0) -> Maker:
        """A category: the first words more often, and more so where the row's risk is low."""
        values = words.split("|")
        return self.add(name, True, lambda row: values[self._skewed(len(values), slope, row)], missing)

    def _skewed(self, size: int, slope: float, row: int) -> int:
        return min(size - 1, int(size * (0.7 * self.draw.random() + 0.3 * self.risk[row]) ** slope))

    def number(self, name: str, mean: float, spread: float, digits: int = 0, missing: float = 0.0) -> Maker:
        return self.add(
            name,
            True,
            lambda row: f"{self.draw.gauss(mean + spread * (self.risk[row] - 0.5), spread):.{digits}f}",
            missing,
        )

    def money(self, name: str, middle: float, comma: bool = False) -> Maker:
        def cell(row: int) -> str:
            amount = f"{self.draw.lognormvariate(0, 0.6) * middle * (0.6 + self.risk[row]):.2f}"
            return amount.replace(".", ",") if comma else amount

        return self.add(name, True, cell)

    def day(self, name: str, first: str, last: str, spelled: str = "%Y-%m-%d", missing: float = 0.0) -> Maker:
        begin, end = date.fromisoformat(first), date.fromisoformat(last)

        def cell(row: int) -> str:
            at = datetime(begin.year, begin.month, begin.day) + timedelta(
                minutes=self.draw.randrange((end - begin).days * 1440)
            )
            return at.strftime(spelled)

        return self.add(name, True, cell, missing)

    def digits(self, name: str, length: int) -> Maker:
        return self.add(name, False, lambda row: self.draw.randrange(10 ** (length - 1), 10**length))

    def words(self, name: str, pool: list[str]) -> Maker:
        return self.add(name, False, lambda row: self.draw.choice(pool))

    def address(self, name: str) -> Maker:
        return self.add(name, False, lambda row: f"{self.draw.choice(STREETS)} {self.draw.randrange(1, 140)}")

    def prose(self, name: str, missing: float = 0.3) -> Maker:
        def cell(row: int) -> str:
            return self.draw.choice(REMARKS).format(
                first=self.draw.choice(FIRST), last=self.draw.choice(LAST), street=self.draw.choice(STREETS)
            )

        return self.add(name, False, cell, missing)


def _hospital(m: Maker) -> Maker:
    m.digits("PESEL", 11).words("Nazwisko", LAST).words("Imię", FIRST).day(
        "Data urodzenia", "1932-01-01", "2006-01-01", "%d.%m.%Y"
    )
    m.choice("Płeć", "K|M").add(
        "Kod pocztowy", True, lambda row: f"{m.draw.randrange(10, 40)}-{m.draw.randrange(100, 400)}"
    )
    m.choice("Oddział", "Interna|Chirurgia|Kardiologia|Neurologia|Ortopedia|Pediatria|OIOM", 1.6)
    m.choice("Rozpoznanie", "I10|E11.9|J18.1|K35|I21.4|S72.0|C50.9|N39.0|G40.9|F32.1", 1.5)
    m.day("Przyjęcie", "2023-01-01", "2024-06-30", "%d.%m.%Y %H:%M").money("Koszt", 2400, comma=True)
    return m.number("Waga", 78, 14).prose("Uwagi").choice("Wypis", "dom|inny szpital|zgon", 3, 0.004)


def _council(m: Maker) -> Maker:
    m.digits("bsn", 9).words("achternaam", LAST).day("geboortedatum", "1940-01-01", "2004-12-31", "%d-%m-%Y")
    m.add(
        "postcode",
        True,
        lambda row: f"{m.draw.randrange(1011, 1099)} {m.draw.choice('ABCDEFGH')}{m.draw.choice('KLMNPRST')}",
    )
    m.add("huisnummer", False, lambda row: m.draw.randrange(1, 380)).choice(
        "burgerlijke staat", "gehuwd|ongehuwd|gescheiden|verweduwd", 1.4
    )
    m.add("kinderen", True, lambda row: min(7, int(m.draw.expovariate(0.8)))).money("inkomen", 2100).choice(
        "regeling", "WW|bijstand|WIA|AOW", 1.2
    )
    return (
        m.number("schuld", 4000, 2500)
        .choice("re-integratie", "ja|nee", 0.8)
        .add("tijdstip", False, lambda row: f"{m.draw.randrange(8, 18)}:{m.draw.randrange(60):02}")
    )


def _checkup(m: Maker) -> Maker:
    m.words("성명", HANGUL).add(
        "주민등록번호", False, lambda row: f"{m.draw.randrange(400000, 991231)}-{m.draw.randrange(1000000, 4999999)}"
    )
    m.day("생년월일", "1945-01-01", "2003-12-31").choice("성별", "남|여").choice(
        "시도", "서울|경기|부산|인천|대구|강원|전남|제주", 1.5
    )
    m.number("신장", 167, 9, 1).number("체중", 66, 11, 1).number("수축기혈압", 124, 15).number(
        "공복혈당", 101, 17
    ).number("총콜레스테롤", 192, 36, 0, 0.02)
    return (
        m.day("검진일", "2023-02-01", "2023-11-30")
        .choice("흡연", "비흡연|과거|현재", 1.2)
        .choice("판정", "정상A|정상B|질환의심|유질환", 1.3)
        .prose("비고", 0.6)
    )


def _telecom(m: Maker) -> Maker:
    m.add("CPF", False, lambda row: f"{m.draw.randrange(10**8, 10**9)}{m.draw.randrange(10, 99)}")
    m.add("cliente", False, lambda row: f"{m.draw.choice(FIRST)} {m.draw.choice(LAST)}").address("endereço")
    m.choice("cidade", "Recife|Olinda|Natal|Maceió|Caruaru|Jaboatão|Paulista|Petrolina|Garanhuns|Serra Talhada", 1.6)
    m.add("celular", False, lambda row: f"(81) 9{m.draw.randrange(1000, 9999)}-{m.draw.randrange(1000, 9999)}").choice(
        "plano", "pré|controle|pós|família", 1.2
    )
    m.number("minutos", 320, 140).money("fatura", 80, comma=True).day(
        "adesão", "2015-01-01", "2024-03-01", "%d/%m/%Y"
    ).number("idade", 41, 14)
    return (
        m.choice("reclamações", "0|1|2|3|4|5", 2.5)
        .choice("cancelou", "não|sim", 2)
        .add("ativado_em", True, lambda row: 1_500_000_000 + m.draw.randrange(10**8))
    )


def _university(m: Maker) -> Maker:
    m.add("student_no", False, lambda row: 4_100 + row).add(
        "email", False, lambda row: f"{m.draw.choice(LAST).lower()}{row}@uni.example"
    )
    m.words("first_name", FIRST).choice(
        "programme", "Law|Medicine|History|Physics|Economics|Design|Nursing", 1.3
    ).choice("entry_year", "2018|2019|2020|2021|2022", 1)
    m.choice("gender", "F|M|X", 1.5).day("dob", "1994-01-01", "2004-12-31", "%m/%d/%Y").number("gpa", 3, 0.5, 2).choice(
        "grant", "none|half|full", 1.5
    )
    m.choice("country", "DE|PL|FR|IT|ES|SE|CZ|UA|TR|IN|CN|BR|NG|US", 2).add(
        "attendance", True, lambda row: f"{60 + 40 * m.draw.random() ** 0.5:.1f}"
    )
    return (
        m.choice("disability", "no|yes", 3)
        .choice("degree", "BA|BSc|MA", 1.2)
        .number("credits", 120, 40)
        .prose("tutor feedback", 0.1)
    )


def _loans(m: Maker) -> Maker:
    m.words("姓名", HAN).add(
        "身份证", False, lambda row: f"{m.draw.randrange(10**16, 10**17)}{m.draw.randrange(10)}"
    ).number("年龄", 38, 10).choice("性别", "男|女")
    m.choice("省份", "广东|江苏|浙江|四川|湖北|北京|上海|辽宁|云南", 1.4).choice(
        "学历", "高中|大专|本科|硕士", 1.3
    ).money("贷款金额", 80_000).choice("逾期", "否|是", 2.2)
    m.number("信用分", 640, 60).day("申请时间", "2022-01-01", "2024-01-01", "%Y-%m-%d %H:%M:%S").add(
        "手机", False, lambda row: 13_000_000_000 + m.draw.randrange(10**9)
    )
    return m.choice("期数", "6|12|24|36", 1).money("月收入", 9_000)


def _nameless(m: Maker) -> Maker:
    m.add("v1", False, lambda row: f"{m.draw.choice(LAST)}, {m.draw.choice(FIRST)}").words("v2", LAST).address(
        "v3"
    ).number("v4", 47, 15).choice("v5", "a|b|c|d", 1.2)
    m.money("v6", 300).day("v7", "2020-01-01", "2023-12-31").choice("v8", "low|middle|high", 1).add(
        "v9", False, lambda row: f"{m.draw.getrandbits(128):032x}"
    )
    return (
        m.number("v10", 5, 1.1, 3)
        .choice("v11", "yes|no|no answer", 1.5)
        .add("v12", False, lambda row: f"{48 + m.draw.random():.6f}")
        .choice("v13", "1|2|3|4|5", 1)
    )


def _payroll(m: Maker) -> Maker:
    m.add("Sicil No", False, lambda row: f"TR{10_000 + row}").words("Soyadı", LAST).choice(
        "Cinsiyet", "Kadın|Erkek"
    ).number("Yaş", 39, 11).choice("Departman", "Üretim|Satış|İK|Bilgi İşlem|Lojistik", 1.4)
    m.money("Maaş", 32_000).day("İşe giriş", "2005-01-01", "2024-01-01", "%d.%m.%Y").number("İzin günü", 14, 5).choice(
        "Sendika", "evet|hayır", 1.1
    ).choice("Vardiya", "1|2|3", 1)
    return (
        m.choice("Eğitim", "ilkokul|lise|önlisans|lisans|yüksek lisans", 1.1)
        .number("Performans", 72, 11, 1)
        .add("kart", False, lambda row: m.draw.randrange(10**15, 10**16))
        .prose("Açıklama", 0.5)
    )


def _survey(m: Maker) -> Maker:
    m.add("respondent", False, lambda row: 1 + row).choice("age_group", "18-29|30-44|45-59|60+", 1).choice(
        "sex", "1|2"
    ).choice("region", "north|south|east|west", 1)
    for number in range(1, 19):
        m.choice(f"q{number}", "1|2|3|4|5|99", 1.0 + number % 3 / 2, 0.01 * (number % 3))
    return m.prose("q19_other", 0.7).choice("weight_class", "under|normal|over", 1.1)


def _register(m: Maker) -> Maker:
    m.add(
        "henkilötunnus",
        False,
        lambda row: (
            f"{m.draw.randrange(10, 28)}0{m.draw.randrange(1, 9)}{m.draw.randrange(40, 99)}-"
            f"{m.draw.randrange(100, 999)}{m.draw.choice('ABCDEFHJ')}"
        ),
    )
    m.words("sukunimi", LAST).add("syntymävuosi", True, lambda row: int(m.draw.gauss(1966, 15))).choice(
        "sukupuoli", "mies|nainen"
    ).choice("kunta", "Oulu|Tampere|Turku|Lahti|Kuopio|Pori|Vaasa|Rauma|Kemi", 1.7)
    m.choice("ammatti", "opettaja|hoitaja|insinööri|myyjä|kuljettaja|kokki|eläkeläinen", 1.2).number(
        "bmi", 26, 4, 1
    ).choice("tupakointi", "ei|kyllä", 1.8).number("kolesteroli", 5.2, 1, 1, 0.02)
    return (
        m.day("näytepäivä", "2021-01-01", "2022-12-31", "%Y-%m-%dT%H:%M")
        .choice("tulos", "neg|pos", 3)
        .number("annos", 40, 15)
        .money("korvaus", 120)
    )


TABLES: dict[str, tuple[Callable[[Maker], Maker], int]] = {
    "hospital": (_hospital, 1400), "council": (_council, 900), "checkup": (_checkup, 700), "telecom": (_telecom, 2000),
    "university": (_university, 600), "loans": (_loans, 2400), "nameless": (_nameless, 800), "payroll": (_payroll, 420),
    "survey": (_survey, 1100), "register": (_register, 3000),
}  # fmt: skip


def raw_table(name: str, seed: int = 7, rows: int | None = None) -> list[RawColumn]:
    """The columns of one of TABLES."""
    make, usual = TABLES[name]
    return make(Maker(seed, rows or usual)).columns


def as_csv(columns: list[RawColumn]) -> str:
    """The table as a file with tabs, which no cell has."""
    lines = ["\t".join(column.name for column in columns)]
    lines += ["\t".join(cells) for cells in zip(*(column.cells for column in columns), strict=True)]
    return "\n".join(lines) + "\n"


def alone(cells: list[list[str]], pair: int) -> int:
    """The rows of a release that are alone in one cell (pair = 1), or in two (pair = 2)."""
    width, rows = len(cells), len(cells[0]) if cells else 0
    found = set[int]()
    for one in range(width):
        for other in range(one + 1, width) if pair == 2 else [one]:
            both = list(zip(cells[one], cells[other], strict=True))
            counts: dict[tuple[str, str], int] = {}
            for value in both:
                counts[value] = counts.get(value, 0) + 1
            found.update(row for row in range(rows) if counts[both[row]] == 1)
    return len(found)
