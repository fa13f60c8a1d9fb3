"""Raw tables as people have them: trades, languages and spellings, each column with a mark of what may be published.

Made with the standard library and a seed, so that no draft is fitted to them by accident: call `table(name, seed)`.
"""

from __future__ import annotations

import csv
import random  # noqa: TID251 - tables as strangers make them, with the standard library alone
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Literal

Fate = Literal["never", "may", "either"]
"""never: in no form; may: a careful person would publish it in some form; either: nobody minds."""

Maker = Callable[[random.Random, int], str]


@dataclass(frozen=True)
class RawColumn:
    """One column of a raw table."""

    name: str
    fate: Fate
    cell: Maker


@dataclass(frozen=True)
class RawTable:
    """The recipe of a table: its columns, and how its file is written."""

    rows: int
    columns: Sequence[RawColumn]
    separator: str = ","
    encoding: str = "utf-8"
    visits: int = 1
    """The most rows that one person has."""

    def names(self, *fates: Fate) -> list[str]:
        """Returns the names of the columns with these fates."""
        return [column.name for column in self.columns if column.fate in fates]


def never(name: str, cell: Maker) -> RawColumn:
    return RawColumn(name, "never", cell)


def may(name: str, cell: Maker) -> RawColumn:
    return RawColumn(name, "may", cell)


def either(name: str, cell: Maker) -> RawColumn:
    return RawColumn(name, "either", cell)


def pick(*values: str, weights: Sequence[float] | None = None) -> Maker:
    """Cells from a list, the first ones more often unless weights are given."""
    odds = list(weights) if weights else [1 / (1 + place) for place in range(len(values))]
    return lambda rng, _: rng.choices(values, odds)[0]


def words(*pools: str, between: str = " ") -> Maker:
    """Cells made of one word of each pool; a pool is a list of words between blanks or bars."""
    lists = [pool.split("|" if "|" in pool else None) for pool in pools]
    return lambda rng, _: between.join(rng.choice(words) for words in lists)


def digits(number: int, lead: str = "") -> Maker:
    return lambda rng, _: lead + "".join(str(rng.randrange(10)) for _ in range(number))


def counting(start: int = 1, form: str = "{}") -> Maker:
    return lambda _, row: form.format(start + row)


def normal(mean: float, spread: float, form: str = "{:.0f}", least: float | None = None) -> Maker:
    def cell(rng: random.Random, _: int) -> str:
        value = rng.gauss(mean, spread)
        return form.format(value if least is None else max(least, value))

    return cell


def amounts(middle: float, form: str = "{:.2f}") -> Maker:
    """Sums of money: most are small, few are large."""
    return lambda rng, _: form.format(rng.lognormvariate(0, 0.8) * middle)


def comma(cell: Maker) -> Maker:
    """Numbers with a decimal comma and points between thousands."""

    def spelled(rng: random.Random, row: int) -> str:
        return f"{float(cell(rng, row)):,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")

    return spelled


def days(first: date, last: date, form: str = "%Y-%m-%d") -> Maker:
    def cell(rng: random.Random, _: int) -> str:
        return (first + timedelta(rng.randrange((last - first).days))).strftime(form)

    return cell


def moments(first: date, last: date, form: str = "%Y-%m-%dT%H:%M:%S") -> Maker:
    def cell(rng: random.Random, _: int) -> str:
        start = datetime(first.year, first.month, first.day)
        return (start + timedelta(seconds=rng.randrange((last - first).days * 86_400))).strftime(form)

    return cell


def seconds_since_1970(first: date, last: date, factor: int = 1) -> Maker:
    def cell(rng: random.Random, _: int) -> str:
        start = int((datetime(first.year, first.month, first.day) - datetime(1970, 1, 1)).total_seconds())
        return str((start + rng.randrange((last - first).days * 86_400)) * factor)

    return cell


def lacking(cell: Maker, share: float, spelled: str = "") -> Maker:
    """The same cells, of which a share is missing and spelled so."""
    return lambda rng, row: spelled if rng.random() < share else cell(rng, row)


def listed(values: Sequence[str], most: int, between: str = "|") -> Maker:
    return lambda rng, _: between.join(rng.sample(values, rng.randint(1, most)))


def remark(*beginnings: str, ends: Sequence[str]) -> Maker:
    """A few sentences that tell of a person, in a fifth of the rows."""

    def cell(rng: random.Random, row: int) -> str:
        if rng.random() < 0.8:
            return ""
        return f"{rng.choice(beginnings)} {rng.choice(ends)} {rng.randint(2, 99)}, {rng.choice(ends)}."

    return cell


BORN = (date(1938, 1, 1), date(2004, 1, 1))
LATE = (date(2022, 1, 1), date(2024, 6, 1))

_POLISH = (
    "Kowalski Nowak Wiśniewski Wójcik Kamiński Lewandowski Zieliński Szymański Woźniak Dąbrowski Kozłowski",
    "Anna Jan Piotr Maria Ewa Tomasz Zofia Paweł Agata Marek Irena",
)
_SPANISH = (
    "García Fernández González Rodríguez López Martínez Sánchez Pérez Gómez Ruiz Díaz Moreno Muñoz",
    "María Carmen José Antonio Lucía Javier Pilar Manuel Elena Sergio",
)
_ITALIAN = (
    "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo",
    "Giulia Marco Francesca Luca Chiara Paolo Elisa Andrea Sofia Matteo",
)
_DUTCH = (
    "de Vries|van den Berg|Bakker|Janssen|Visser|Smit|Meijer|de Boer|Mulder|Bos|Vos|Peters",
    "Sanne Daan Emma Bram Lotte Thijs Fleur Joris Anouk Ruben",
)
_SWEDISH = (
    "Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Lindberg",
    "Erik Anna Lars Karin Elsa Nils Maja Oskar Sara Axel",
)
_KOREAN = (
    "김 이 박 최 정 강 조 윤 장 임",
    "민준 서연 지훈 수빈 현우 지민 하은 도윤 예은 성민 은지 태영",
)
_CHINESE = ("王 李 张 刘 陈 杨 黄 赵 吴 周", "伟 芳 娜 秀英 敏 静 丽 强 磊 洋 艳 勇")
_RUSSIAN = (
    "Иванов Смирнов Кузнецов Попов Васильев Петров Соколов Михайлов Новиков Фёдоров",
    "Анна Иван Мария Сергей Ольга Дмитрий Елена Алексей Наталья Павел",
)
_ENGLISH = (
    "Smith Jones Taylor Brown Williams Wilson Johnson Davies Patel Wright Walker White Hughes",
    "Olivia Jack Amelia Harry Isla George Ava Noah Emily Leo Grace Oscar",
)
_GREEK = (
    "Παπαδόπουλος Γεωργίου Οικονόμου Νικολάου Δημητρίου Ιωάννου Βασιλείου",
    "Μαρία Γιώργος Ελένη Δημήτρης Κατερίνα Νίκος Σοφία",
)
_FINNISH = (
    "Korhonen Virtanen Mäkinen Nieminen Mäkelä Hämäläinen Laine Heikkinen Koskinen",
    "Aino Eetu Helmi Juho Liisa Matti Päivi Timo Venla",
)
_ARABIC = ("محمد أحمد علي حسن عمر خالد يوسف", "المصري الشامي الحداد النجار العلي القاسم الخطيب")

TABLES: dict[str, RawTable] = {
    "polish-library": RawTable(
        1400,
        (
            never("nr karty", counting(100_231, "BK{}")),
            never("czytelnik", words(_POLISH[1], _POLISH[0])),
            may("rok urodzenia", normal(1978, 17, "{:.0f}")),
            may("płeć", pick("K", "M")),
            may("dzielnica", pick("Mokotów", "Wola", "Ochota", "Praga", "Ursus", "Bemowo", "Wawer", "Włochy")),
            may("data wypożyczenia", days(*LATE, "%d.%m.%Y")),
            may("dział", pick("kryminał", "poezja", "historia", "dla dzieci", "komiks", "podróże", "kulinaria")),
            may("liczba książek", normal(3, 2, "{:.0f}", 1)),
            may("kara (zł)", lacking(comma(amounts(4)), 0.7, "brak")),
            never(
                "uwagi",
                remark("prosi o telefon", "zgubiona książka", ends=("syn", "ul. Długa", "wróci po", "pani Ewa")),
            ),
            never("e-mail", lambda r, _: f"czyt{r.randrange(10**6)}@poczta.example"),
        ),
        ";",
    ),
    "spanish-vaccines": RawTable(
        2200,
        (
            never("NIF", lambda r, _: f"{r.randrange(10**8):08d}{r.choice('TRWAGMYFPDXBNJZSQVHLCKE')}"),
            never("Apellidos", words(_SPANISH[0], _SPANISH[0])),
            never("Nombre", words(_SPANISH[1])),
            may("F_NAC", days(*BORN, "%d/%m/%Y")),
            may("Sexo", pick("Mujer", "Hombre")),
            may("CP", lambda r, _: f"28{r.randrange(40):03d}"),
            may("Vacuna", pick("gripe", "tétanos", "COVID-19", "hepatitis B", "neumococo")),
            may("Dosis", pick("1", "2", "3", "4")),
            may("Fecha y hora", moments(*LATE, "%d/%m/%Y %H:%M")),
            may("Lote", pick("AX12", "AX13", "BB07", "BB09", "C310")),
            may("Reacción", pick("ninguna", "leve", "fiebre", "dolor local", "grave")),
            never("Teléfono", digits(8, "6")),
            may("Peso", lacking(normal(71, 14, "{:.1f}"), 0.04, "-9")),
            never("Observaciones", remark("avisar a", "alergia según", ends=("su hija", "Dr. Ruiz", "calle Mayor"))),
        ),
        ";",
        "latin-1",
    ),
    "italian-dentist": RawTable(
        480,
        (
            never(
                "Codice Fiscale",
                lambda r, _: (
                    "".join(r.choice("ABCDEFGHLMNPRST") for _ in range(6))
                    + f"{r.randrange(40, 99)}{r.choice('ABCDEHLMPRST')}{r.randrange(1, 72):02d}F205{r.choice('XYZ')}"
                ),
            ),
            never("Paziente", words(_ITALIAN[0], _ITALIAN[1])),
            may("Età", lacking(normal(46, 16, "{:.0f}", 6), 0.02, "999")),
            may("Sesso", pick("F", "M")),
            may("Comune", pick("Milano", "Monza", "Sesto", "Rho", "Lecco", "Como", "Lodi")),
            may(
                "Trattamento", pick("igiene", "otturazione", "devitalizzazione", "protesi", "ortodonzia", "estrazione")
            ),
            may("Data visita", days(*LATE, "%d-%m-%Y")),
            may("Importo", lambda r, _: f"€ {r.lognormvariate(4.6, 0.7):,.2f}"),
            may("Pagato", pick("sì", "no", "in parte")),
            either("Ora", lambda r, _: f"{r.randrange(8, 19):02d}:{r.randrange(60):02d}"),
            never("Note", remark("richiamare", "ansioso, viene con", ends=("la moglie", "via Roma", "il figlio"))),
        ),
    ),
    "dutch-tenants": RawTable(
        2600,
        (
            never("BSN", digits(9)),
            never("Huurder", words(_DUTCH[1], _DUTCH[0])),
            never(
                "Adres",
                lambda r, _: (
                    f"{r.choice(['Kerkstraat', 'Dorpsweg', 'Molenlaan'])} {r.randrange(1, 240)}{r.choice(['', 'a'])}"
                ),
            ),
            may("Postcode", lambda r, _: f"{r.randrange(1011, 1080)} {r.choice('ABCDE')}{r.choice('ABCDE')}"),
            may("Geboortedatum", days(*BORN, "%d-%m-%Y")),
            may("Huishouden", pick("alleen", "samen", "gezin", "eenouder")),
            may("Huur per maand", comma(normal(690, 140, "{:.2f}", 250))),
            may("Inkomen", lacking(normal(29_000, 9_000, "{:.0f}", 0), 0.06, "99999")),
            may("Energielabel", pick("C", "D", "B", "A", "E", "F", "G")),
            may("Sinds", days(date(1990, 1, 1), date(2024, 1, 1), "%d-%m-%Y")),
            may("Achterstand", pick("nee", "ja", weights=(9, 1))),
            never("Opmerking", remark("belt vaak over", "buur klaagt", ends=("lekkage", "mevrouw Smit", "hond"))),
        ),
        ";",
    ),
    "swedish-gym": RawTable(
        900,
        (
            never(
                "personnummer",
                lambda r, _: (
                    f"19{r.randrange(40, 99)}{r.randrange(1, 13):02d}{r.randrange(1, 29):02d}-{r.randrange(10**4):04d}"
                ),
            ),
            never("medlem", words(_SWEDISH[1], _SWEDISH[0])),
            may("ålder", normal(37, 13, "{:.0f}", 16)),
            may("kön", pick("kvinna", "man", "annat", weights=(50, 48, 2))),
            may("ort", pick("Lund", "Malmö", "Ystad", "Eslöv", "Trelleborg")),
            may("kort", pick("månad", "år", "student", "senior")),
            may("senaste besök", moments(*LATE, "%Y-%m-%d %H:%M:%S")),
            may("besök per månad", normal(6, 4, "{:.0f}", 0)),
            may("vilopuls", lacking(normal(66, 9), 0.1, "-1")),
            may("BMI", normal(25, 4, "{:.1f}")),
            either("klubb", pick("Skåne")),
            never("mobil", digits(7, "+46 70-")),
        ),
    ),
    "korean-licence": RawTable(
        1600,
        (
            never("수험번호", counting(20_240_001)),
            never("성명", words(_KOREAN[0], _KOREAN[1], between="")),
            never("주민등록번호", lambda r, _: f"{r.randrange(10**6):06d}-{r.randrange(1, 5)}{r.randrange(10**6):06d}"),
            may("생년월일", days(*BORN, "%Y년 %m월 %d일")),
            may("성별", pick("남", "여")),
            may("거주지", pick("서울", "부산", "대구", "인천", "광주", "대전", "울산")),
            may("시험일", days(*LATE, "%Y.%m.%d")),
            may("필기점수", normal(74, 12, "{:.0f}", 0)),
            may("기능점수", lacking(normal(80, 11, "{:.0f}", 0), 0.08, "없음")),
            may("결과", pick("합격", "불합격")),
            may("면허종류", pick("2종보통", "1종보통", "2종소형", "1종대형")),
            never("연락처", digits(8, "010-")),
        ),
    ),
    "chinese-hotel": RawTable(
        1900,
        (
            never("姓名", words(_CHINESE[0], _CHINESE[1], between="")),
            never("身份证号", digits(17, "1")),
            may("性别", pick("男", "女")),
            may("出生日期", days(*BORN, "%Y年%m月%d日")),
            may("籍贯", pick("北京", "上海", "广东", "四川", "浙江", "湖北", "山东", "江苏")),
            may("入住时间", moments(*LATE, "%Y/%m/%d %H:%M")),
            may("房型", pick("标准间", "大床房", "套房", "家庭房")),
            may("晚数", normal(2.4, 1.4, "{:.0f}", 1)),
            may("房费", amounts(420)),
            may("会员", pick("普通", "银卡", "金卡", "未")),
            never("手机", digits(10, "1")),
            never("备注", remark("要求", "投诉", ends=("安静房间", "王先生", "加床"))),
        ),
    ),
    "brazilian-donors": RawTable(
        1200,
        (
            never(
                "CPF",
                lambda r, _: (
                    f"{r.randrange(1000):03d}.{r.randrange(1000):03d}.{r.randrange(1000):03d}-{r.randrange(100):02d}"
                ),
            ),
            never("doador", words(_SPANISH[1], _SPANISH[0], _ITALIAN[0])),
            may("idade", normal(34, 11, "{:.0f}", 16)),
            may("sexo", pick("F", "M")),
            may("cidade", pick("Recife", "Olinda", "Caruaru", "Petrolina", "Jaboatão")),
            may("tipo sanguíneo", pick("O+", "A+", "B+", "O-", "AB+", "A-", "B-", "AB-")),
            may("hemoglobina", lambda r, _: f"{r.gauss(13.9, 1.3):.1f}".replace(".", ",")),
            may("pressão", lambda r, _: f"{r.gauss(122, 14):.0f}"),
            may("última doação", lacking(days(*LATE, "%d/%m/%y"), 0.1, "00/00/00")),
            may("sorologia", pick("negativo", "positivo", weights=(97, 3))),
            never("celular", digits(9, "(81) ")),
            never(
                "endereço",
                lambda r, _: f"Rua {r.choice(['das Flores', 'do Sol', 'da Aurora', 'Direita'])}, {r.randrange(1, 900)}",
            ),
        ),
        ";",
    ),
    "danish-pharmacy": RawTable(
        2400,
        (
            never(
                "CPR",
                lambda r, _: (
                    f"{r.randrange(1, 29):02d}{r.randrange(1, 13):02d}{r.randrange(40, 99)}-{r.randrange(10**4):04d}"
                ),
            ),
            may("fødselsår", normal(1962, 18)),
            may("køn", pick("kvinde", "mand")),
            may("kommune", pick("Aarhus", "Odense", "Vejle", "Randers", "Horsens", "Silkeborg")),
            may("ATC", pick("C10AA05", "N02BE01", "A02BC01", "C09AA02", "N06AB04", "R03AC02", "J01CA04", "A10BA02")),
            may("udleveret", days(*LATE, "%d-%m-%y")),
            may("pakninger", normal(2, 1, "{:.0f}", 1)),
            may("pris", comma(amounts(110))),
            may("tilskud %", lambda r, _: f"{r.choice([0, 50, 75, 85])},{r.randrange(100):02d}%"),
            either("apotek", pick("Løve")),
            never("læge", counting(5_000_001)),
        ),
        ";",
        visits=6,
    ),
    "uk-foodbank": RawTable(
        750,
        (
            never("Referral ID", counting(3001, "FB-{}")),
            never("Client", words(_ENGLISH[1], _ENGLISH[0])),
            never(
                "Address line 1",
                lambda r, _: (
                    f"{r.randrange(1, 200)} {r.choice(['High Street', 'Mill Lane', 'Station Road', 'Church Close'])}"
                ),
            ),
            may(
                "Postcode",
                lambda r, _: f"LS{r.randrange(1, 29)} {r.randrange(1, 9)}{r.choice('ABDEFG')}{r.choice('HJLNP')}",
            ),
            may("DOB", days(*BORN, "%d %b %Y")),
            may("Adults", pick("1", "2", "3", "4")),
            may("Children", pick("0", "1", "2", "3", "5")),
            may("Reason", pick("benefit delay", "debt", "low income", "homeless", "sickness", "domestic abuse")),
            may("First visit", days(*LATE, "%d/%m/%Y")),
            may("Parcels", normal(3, 2, "{:.0f}", 1)),
            may("Benefit", pick("UC", "PIP", "none", "ESA", "n/a")),
            never("Worker notes", remark("lives with", "called about", ends=("ex partner", "Mrs Patel", "landlord"))),
        ),
    ),
    "indian-scholarships": RawTable(
        3000,
        (
            never("Application No", counting(230_000_117)),
            never(
                "Aadhaar", lambda r, _: f"{r.randrange(2000, 9999)} {r.randrange(10**4):04d} {r.randrange(10**4):04d}"
            ),
            never(
                "Applicant",
                words(
                    "Priya Rahul Anjali Amit Sneha Vikram Divya Arjun Kavya Rohan",
                    "Sharma Verma Gupta Singh Reddy Nair Iyer Das Khan Joshi",
                ),
            ),
            may("Gender", pick("Female", "Male")),
            may("DOB", days(date(2000, 1, 1), date(2007, 1, 1), "%d-%b-%Y")),
            may("District", pick("Pune", "Nashik", "Nagpur", "Thane", "Satara", "Latur", "Akola", "Sangli")),
            may("Category", pick("General", "OBC", "SC", "ST", "EWS")),
            may("Family income", lambda r, _: f"{int(r.lognormvariate(12, 0.6)):,}"),
            may("Marks %", lambda r, _: f"{r.gauss(71, 11):.2f}%"),
            may("Course", pick("B.A.", "B.Sc.", "B.Com.", "B.E.", "MBBS", "LL.B.")),
            may("Sanctioned", pick("Yes", "No", "Pending")),
            never("Bank account", digits(14)),
            never("IFSC", lambda r, _: f"SBIN0{r.randrange(10**6):06d}"),
        ),
    ),
    "russian-polyclinic": RawTable(
        1100,
        (
            never(
                "СНИЛС",
                lambda r, _: (
                    f"{r.randrange(1000):03d}-{r.randrange(1000):03d}-{r.randrange(1000):03d} {r.randrange(100):02d}"
                ),
            ),
            never("ФИО", words(_RUSSIAN[0], _RUSSIAN[1])),
            may("Дата рождения", days(*BORN, "%d.%m.%Y")),
            may("Пол", pick("Ж", "М")),
            may("Район", pick("Центральный", "Северный", "Южный", "Заречный", "Ленинский")),
            may("Диагноз", pick("J06.9", "I10", "E11.9", "M54.5", "K29.7", "N39.0", "B20")),
            may("Дата приёма", moments(*LATE, "%d.%m.%Y %H:%M")),
            may("Давление сист.", lacking(normal(131, 17), 0.05, "нет данных")),
            may("Температура", lambda r, _: f"{r.gauss(36.9, 0.6):.1f}".replace(".", ",")),
            may("Льгота", pick("нет", "инвалид", "ветеран", "пенсионер")),
            never("Телефон", digits(9, "+79")),
            never("Жалобы", remark("жалуется на", "со слов", ends=("сына", "боли", "ул. Мира"))),
        ),
        ";",
        "cp1251",
    ),
    "finnish-jobs": RawTable(
        1300,
        (
            never(
                "henkilötunnus",
                lambda r, _: (
                    f"{r.randrange(1, 29):02d}{r.randrange(1, 13):02d}{r.randrange(40, 99)}-{r.randrange(2, 900):03d}A"
                ),
            ),
            never("nimi", words(_FINNISH[1], _FINNISH[0])),
            may("ikä", normal(41, 12, "{:.0f}", 17)),
            may("sukupuoli", pick("nainen", "mies")),
            may("postinumero", lambda r, _: f"{r.randrange(33, 40)}{r.choice(['100', '200', '500', '710'])}"),
            may(
                "ammatti",
                pick(
                    "myyjä",
                    "hitsaaja",
                    "lähihoitaja",
                    "kokki",
                    "siivooja",
                    "insinööri",
                    "opettaja",
                    "kuljettaja",
                    "sihteeri",
                ),
            ),
            may("työttömänä (pv)", amounts(140, "{:.0f}")),
            may("tuki €/kk", lacking(normal(920, 180, "{:.0f}", 0), 0.07, "9999")),
            may("koulutus", pick("peruskoulu", "ammatillinen", "lukio", "korkeakoulu")),
            may("alkoi", days(*LATE, "%-d.%-m.%Y")),
            never("lisätiedot", remark("soitettu, puhui", "haastattelu", ends=("vaimo", "tiistaina", "Nokialla"))),
        ),
        ";",
    ),
    "pet-insurance": RawTable(
        2100,
        (
            never("policy", lambda r, _: f"{r.getrandbits(64):016x}"),
            never("owner_email", lambda r, _: f"{r.choice(_ENGLISH[1]).lower()}.{r.randrange(10**5)}@mail.example"),
            may("owner_age", lacking(normal(44, 14, "{:.0f}", 18), 0.03, ".")),
            may("state", pick("CA", "TX", "NY", "FL", "OH", "WA", "NA")),
            may("species", pick("dog", "cat", "rabbit", "bird")),
            may("breed", pick("mixed", "labrador", "poodle", "siamese", "bulldog", "beagle", "persian", "husky")),
            may("claim_ts", seconds_since_1970(*LATE)),
            may("amount", lambda r, _: f"${r.lognormvariate(5.5, 0.8):,.2f}"),
            may("diagnosis", pick("ear infection", "allergy", "injury", "dental", "tumour", "diabetes")),
            may("paid", pick("t", "f")),
            either("riders", listed(("dental", "travel", "liability", "wellness", "cremation"), 4)),
            never("lat_lon", lambda r, _: f"{r.uniform(30, 45):.5f},{r.uniform(-120, -75):.5f}"),
            never("vet_note", remark("owner reports", "told", ends=("her husband", "neighbour", "limping"))),
        ),
    ),
    "hungarian-court": RawTable(
        600,
        (
            never("ügyszám", lambda r, _: f"{r.randrange(1, 40)}.P.{r.randrange(20_000, 99_000)}/2023"),
            never(
                "vádlott",
                words(
                    "Nagy Kovács Tóth Szabó Horváth Varga Kiss Molnár Németh",
                    "Anna Péter Éva Gábor Judit László Zsófia Zoltán",
                ),
            ),
            may("életkor", normal(36, 12, "{:.0f}", 14)),
            may("nem", pick("férfi", "nő")),
            may("megye", pick("Pest", "Zala", "Vas", "Tolna", "Heves", "Fejér")),
            may("bűncselekmény", pick("lopás", "csalás", "rongálás", "testi sértés", "ittas vezetés")),
            may("ítélet", pick("pénzbüntetés", "felfüggesztett", "elzárás", "felmentés")),
            may("tárgyalás", days(*LATE, "%Y. %m. %d.")),
            may("kár (Ft)", lacking(amounts(90_000, "{:.0f}"), 0.15, "-")),
            may("visszaeső", pick("nem", "igen")),
            never("lakcím", lambda r, _: f"{r.choice(['Fő', 'Petőfi', 'Kossuth'])} utca {r.randrange(1, 150)}."),
        ),
        ";",
    ),
    "greek-tourism": RawTable(
        820,
        (
            never("α/α", counting()),
            never("Ονοματεπώνυμο", words(_GREEK[1], _GREEK[0])),
            may("Ηλικία", normal(43, 15, "{:.0f}", 18)),
            may("Φύλο", pick("Γυναίκα", "Άνδρας")),
            may("Χώρα", pick("Ελλάδα", "Γερμανία", "Γαλλία", "Ιταλία", "Πολωνία", "Ισραήλ")),
            may("Διαμονή", pick("ξενοδοχείο", "κάμπινγκ", "ενοικίαση", "φίλοι")),
            may("Άφιξη", days(*LATE, "%d/%m/%Y")),
            may("Δαπάνη", comma(amounts(640))),
            may("Ικανοποίηση", pick("5", "4", "3", "2", "1", "99", weights=(8, 6, 3, 2, 1, 1))),
            may("Επιστροφή", pick("ναι", "όχι", "ίσως")),
            never("Σχόλια", remark("μας άρεσε", "πρόβλημα με", ends=("τον κύριο Νίκο", "το δωμάτιο", "την παραλία"))),
        ),
        ";",
    ),
    "czech-sport-injuries": RawTable(
        1000,
        (
            never(
                "rodné číslo",
                lambda r, _: (
                    f"{r.randrange(45, 99)}{r.randrange(1, 13):02d}{r.randrange(1, 29):02d}/{r.randrange(10**4):04d}"
                ),
            ),
            may("věk", lacking(normal(28, 11, "{:.0f}", 8), 0.02, "-1")),
            may("pohlaví", pick("muž", "žena")),
            may("okres", pick("Brno-město", "Vyškov", "Blansko", "Znojmo", "Hodonín")),
            may("sport", pick("fotbal", "hokej", "lyže", "volejbal", "cyklistika", "tenis", "judo")),
            may("zranění", pick("kotník", "koleno", "zápěstí", "hlava", "rameno")),
            may("datum úrazu", days(*LATE, "%d. %m. %Y")),
            may("dny v klidu", amounts(16, "{:.0f}")),
            may("operace", pick("ne", "ano")),
            may("výška", normal(176, 9)),
            may("váha", lacking(normal(77, 13), 0.05, "999")),
            never("jméno trenéra", words(_POLISH[1], "Novák Svoboda Dvořák Černý Procházka Kučera Veselý Horák")),
            never("popis", remark("spadl na", "střet s", ends=("hráčem", "panem Novákem", "tyčí"))),
        ),
        ";",
    ),
    "aged-care": RawTable(
        560,
        (
            never(
                "resident_uuid",
                lambda r, _: (
                    f"{r.getrandbits(32):08x}-{r.getrandbits(16):04x}-4{r.getrandbits(12):03x}-a{r.getrandbits(12):03x}-{r.getrandbits(48):012x}"
                ),
            ),
            never("full_name", words(_ENGLISH[1], _ENGLISH[0])),
            may("birth_year", normal(1939, 7)),
            may("sex", pick("F", "M")),
            may("suburb", pick("Carlton", "Fitzroy", "Brunswick", "Kew", "Preston")),
            may("admitted", moments(date(2016, 1, 1), date(2024, 1, 1), "%Y-%m-%dT%H:%M:%SZ")),
            may("mobility", pick("walks", "frame", "wheelchair", "bed")),
            may("dementia", pick("none", "mild", "moderate", "severe")),
            may("falls_12m", pick("0", "1", "2", "3", "4", "7")),
            may("weight_kg", lacking(normal(66, 12, "{:.1f}"), 0.05, "999.9")),
            may("mmse", lacking(normal(21, 6, "{:.0f}", 0), 0.1, "88")),
            never("next_of_kin", words(_ENGLISH[1], _ENGLISH[0])),
            never("nok_phone", digits(8, "04")),
            may("medications", pick("5", "6", "4", "8", "3", "9", "11", "2", "14")),
        ),
    ),
    "frequent-flyers": RawTable(
        2900,
        (
            never("member", counting(7_001_449)),
            never("surname", words(_ENGLISH[0])),
            may("tier", pick("Blue", "Silver", "Gold", "Platinum")),
            may("home_airport", pick("YYZ", "YVR", "YUL", "YYC", "YEG", "YOW", "YHZ")),
            may("nationality", pick("CA", "US", "FR", "IN", "CN", "GB")),
            may("joined", days(date(2005, 1, 1), date(2024, 1, 1), "%b %d, %Y")),
            may("last_flight_ms", seconds_since_1970(*LATE, factor=1000)),
            may("miles", amounts(21_000, "{:.0f}")),
            may("age_band", pick("35-44", "25-34", "45-54", "55-64", "18-24", "65+")),
            may("meal", pick("standard", "vegetarian", "kosher", "halal", "diabetic")),
            may("delay_claims", pick("0", "1", "2", "3")),
            never("passport", lambda r, _: f"{r.choice('ABCGH')}{r.choice('ABCG')}{r.randrange(10**6):06d}"),
        ),
    ),
    "swiss-parish": RawTable(
        1500,
        (
            never(
                "AHV-Nr.", lambda r, _: f"756.{r.randrange(10**4):04d}.{r.randrange(10**4):04d}.{r.randrange(100):02d}"
            ),
            never(
                "Nachname",
                words("Müller Meier Schmid Keller Weber Huber Schneider Meyer Steiner Fischer Brunner Baumann"),
            ),
            never(
                "Strasse",
                lambda r, _: (
                    f"{r.choice(['Bahnhofstrasse', 'Dorfstrasse', 'Seeweg', 'Rebgasse'])} {r.randrange(1, 120)}"
                ),
            ),
            may("PLZ", pick("8001", "8004", "8032", "8047", "8050", "8055", "8400", "8600")),
            may("Jahrgang", normal(1966, 19)),
            may("Zivilstand", pick("verheiratet", "ledig", "geschieden", "verwitwet")),
            may("Konfession", pick("reformiert", "katholisch", "keine", "andere")),
            may("Steuer CHF", lambda r, _: f"{r.lognormvariate(7, 0.7):,.2f}".replace(",", "'")),
            may("Eintritt", days(date(1980, 1, 1), date(2024, 1, 1), "%d.%m.%y")),
            may("Ehrenamt", pick("nein", "ja", "k.A.")),
            never(
                "Bemerkungen",
                remark("wünscht Besuch von", "gestorben:", ends=("Pfarrer Keller", "der Ehemann", "Spital")),
            ),
        ),
        ";",
    ),
    "arabic-clinic": RawTable(
        700,
        (
            never("رقم الملف", counting(44_010)),
            never("الاسم", words(_ARABIC[0], _ARABIC[1])),
            may("العمر", normal(33, 17, "{:.0f}", 1)),
            may("الجنس", pick("ذكر", "أنثى")),
            may("المدينة", pick("عمان", "إربد", "الزرقاء", "العقبة", "السلط")),
            may("التشخيص", pick("سكري", "ضغط", "ربو", "صداع", "كسر", "حساسية")),
            may("تاريخ الزيارة", days(*LATE, "%Y/%m/%d")),
            may("الوزن", lacking(normal(72, 15), 0.05, "غير معروف")),
            may("الرسوم", amounts(14)),
            may("تأمين", pick("نعم", "لا")),
            never("هاتف", digits(8, "07")),
        ),
    ),
    "mobile-money": RawTable(
        2700,
        (
            never("msisdn", digits(9, "254")),
            may("gender", pick("M", "F")),
            may("birth_year", normal(1990, 10)),
            may("county", pick("Nairobi", "Mombasa", "Kisumu", "Nakuru", "Kiambu", "Meru", "Kisii")),
            never("txn_id", lambda r, _: "".join(r.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(10))),
            may("txn_time", moments(*LATE, "%Y-%m-%d %H:%M:%S.000")),
            may("type", pick("send", "pay bill", "airtime", "withdraw", "loan")),
            may("amount_kes", amounts(900)),
            may("fee", pick("0", "11", "15", "26", "33", "60")),
            never(
                "counterparty",
                words(
                    "Wanjiru Otieno Mwangi Achieng Kamau Njeri Kiptoo Mutua",
                    "Grace John Mary Peter Faith James Mercy David",
                ),
            ),
            may("agent_area", pick("urban", "rural", "peri-urban")),
        ),
        visits=7,
    ),
}


def rows_of(raw: RawTable, seed: int) -> Iterator[list[str]]:
    """Cells of each row; people with several rows repeat their first four columns."""
    rng = random.Random(seed)
    fixed = [place for place, column in enumerate(raw.columns) if place < 4] if raw.visits > 1 else []
    person: list[str] = []
    left = 0
    for row in range(raw.rows):
        cells = [column.cell(rng, row) for column in raw.columns]
        if left == 0:
            person, left = cells, rng.randint(1, raw.visits)
        for place in fixed:
            cells[place] = person[place]
        left -= 1
        yield cells


def write(name: str, folder: Path, seed: int) -> Path:
    """Writes the table as a file of its own spelling into the folder."""
    raw = TABLES[name]
    path = folder / f"{name}.csv"
    with path.open("w", encoding=raw.encoding, newline="") as file:
        writer = csv.writer(file, delimiter=raw.separator)
        writer.writerow([column.name for column in raw.columns])
        rows = list(rows_of(raw, seed))
        random.Random(seed + 1).shuffle(rows)
        writer.writerows(rows)
    return path
