"""Looks of a column's name and values: names of persons, prose, numbers of persons, addresses, times of day.

Column names are known in the languages of people's files. A name may hold a column back, never open it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from covey import cells
from covey.guess.columns import ColumnValues

_WORD = r"(?<![^\W_])(?:{})(?![^\W_])"


def _words(words: str, parts: str = "") -> re.Pattern[str]:
    """The pattern of names that have one of the words, or one of the parts inside a word."""
    return re.compile(_WORD.format(words) + (f"|{parts}" if parts else ""), re.IGNORECASE)


NUMBERS = _words(
    r"id|uid|uuid|guid|ssn|mrn|nhs|bsn|cpf|cnpj|rg|dni|nie|nif|curp|rut|nir|pesel|mbi|vin|imei|iban|passport|kennung"
    r"|url|ip|no|nr|num|number|nummer|numer|numero|n[uú]mero|code|key|matr[ií]cula|legajo|contract|account|policy",
    r"subjid|usubjid|person_?id|fallnr|fallnummer|pat(ienten)?-?nr|(vers|konto|kunden|vertrags|haus)(ichert(en)?)?-?n(umme)?r"
    r"|codice fiscale|番号|编号|号码|번호|身份证|주민",
)
"""Names of numbers of persons: left out where the column has many values."""

PERSONS = _words(
    r"name|names|surname|firstname|lastname|forename|fullname|givenname|initials|vorname|nachname|familienname|nom|noms|pr[eé]noms?"
    r"|apellidos?|nombres?|nome|sobrenome|cognome|naam|achternaam|voornaam|nazwisko|imi[eęon]+a?"
    r"|e-?mail|mail|phone|mobile|tel|telefon|telefono|tel[eé]fono|telefone|telefoon|t[eé]l[eé]phone|handy|celular|fax"
    r"|address|addr|adresse|adres|adresa|indirizzo|direcci[oó]n|endere[cç]o|street|stra(ß|ss)e|straat|ulica|rue|calle|rua|huisnummer"
    r"|lat|lon|lng|latitude|longitude|gps|geo|coordinates?",
    r"氏名|名前|患者名|姓名|姓$|^名$|カナ|フリガナ|성명|이름|住所|地址|주소|電話|电话|手机|전화|휴대|이메일|邮箱|メール",
)
"""Names of columns with names, addresses, telephones and places of one person."""

PROSE = _words(
    r"notes?|comments?|remarks?|memo|text|description|feedback|uwagi|opis|opmerking(en)?|toelichting|obs",
    r"comment|remark|bemerk|notiz|freitext|remarque|observa[cçt]|anmerk|komment|備考|コメント|所見|备注|備註|비고|메모|소견",
)
"""Names of free texts."""

SENSITIVE = re.compile(
    r"diagnos|disease|illness|condition|icd|hiv|drug|medic|treat|result|salary|income|wage|debt|relig|politic|offen[cs]e|crime"
    r"|affair|abuse|alcohol|mental|rating|(^|_)rate|opinion|satisf|attitude|cost|charge|expen|price|score|kosten|befund"
    r"|gehalt|einkommen|behandl|krank|rozpozn|zarob|inkomen|salaris|renda|sal[aá]rio|diagn[oó]s|診断|病名|年収|诊断|收入|진단|소득",
    re.IGNORECASE,
)
"""Names of what must not be learned of a person: its few values are to vary in every class."""

BIRTH = re.compile(
    r"birth|born|(^|[_\s-])dob|geburt|(^|[_\s])geb(?![a-z])|gebdat|naissance|nacimiento|nascita|nascimento|geboorte|urodz|生年|出生|생년",
    re.IGNORECASE,
)
CODE = re.compile(
    r"zip|post|plz|pocztow|postal|postcode|icd|atc|nuts|lsoa|(^|[_\s])cep([_\s]|$)|郵便|邮编|우편", re.IGNORECASE
)

_FIRST = (
    r"(^|[^a-z])x?age([^a-z]|$)|(^|[^a-z])(fe)?male|(^|[^a-z])sex|gender|geschl|(^|[_\s])alter(?![a-z])|sexe|sexo|edad|idade|leeftijd"
    r"|wiek|p[lł]e[cć]|zip|post|plz|pocztow|(^|[_\s])cep([_\s]|$)|city|town|wohnort|(^|[_\s])ort([_\s]|$)|ville|ciudad|cidade|miasto|woonplaats|gemeente"
    r"|region|province|provinz|wojew|(^|_)state|county|country|land(kreis)?$|district|municip|bairro|bezirk|commune|d[eé]partement"
    r"|年齢|年龄|나이|연령|性別|性别|성별|都道府県|市区|省|城市|地域|지역|시도|시군구|거주|郵便|邮编|우편"
)
_SECOND = (
    r"race|ethnic|black|hispanic|nation|citizen|staatsang|marit|married|marri|familienst|civil|spouse|husb|wife|famil|househ|child|kids|kinder"
    r"|educ|school|degree|escolar|wykszt|opleiding|occup|(^|_)job|profession|profiss|employ|beruf|beroep|zaw[oó]d|industry|sector|language"
    r"|veteran|disab|student|ra[cç]a|filhos|burgerlijk|職業|职业|직업|学歴|学历|학력|婚|혼인|국적|国籍|民族|籍贯"
)
_THIRD = (
    r"(^|_)site|hospital|ward|clinic|unit$|height|weight|(^|_)bmi|date|admi|dischar|(^|_)year|yrs|aufnahme|entlass|gr(ö|oe)(ß|ss)e|gewicht"
    r"|datum|data|altura|peso|lengte|wzrost|waga|身長|体重|身高|신장|체중"
)
_KNOWN = tuple(re.compile(pattern, re.IGNORECASE) for pattern in (f"{BIRTH.pattern}|{_FIRST}", _SECOND, _THIRD))


def known_outside(name: str) -> int | None:
    """Returns 0 for what any neighbour knows, 1 or 2 for what fewer know, else None."""
    return next((rank for rank, pattern in enumerate(_KNOWN) if pattern.search(name)), None)


_NEARLY_ALL = 0.9
_LOOKED_AT = 2_000
UNIQUE = 0.95  # a column whose rows almost all differ names people
_WORDS = 3.5  # in a text of prose, on average
_LONG = 40  # characters of a text of prose, on average
_LONG_DIGITS = 7  # a number with as many is one of a person, an account, a device, or a moment

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々〆ー"
_CJK_NAME = re.compile(rf"[{_CJK}]{{1,4}}[ \u3000]?[{_CJK}]{{1,4}}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|(?=.*\d)[0-9a-f]{12,}", re.IGNORECASE)
_COORDINATES = re.compile(r"[-+]?\d{1,3}\.\d{3,}[,; ]+[-+]?\d{1,3}\.\d{3,}")
_MAIL_OR_WEB = re.compile(r"[^@\s]+@[^@\s]+\.\w+|(https?://|www\.)\S+", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?=.*[^\W\d_]{3}).*(?<!\S)(\d{1,5}[a-z]?|\d{1,5}[-/]\d{1,5})(?![^\s,])|.*\d(丁目|番地|号|번지|路)", re.IGNORECASE
)
_PARTICLES = frozenset(
    ("de", "da", "do", "dos", "di", "von", "van", "der", "den", "ter", "la", "del", "al", "bin", "ben")
)
_DIGITS = re.compile(r"\d[\d .\-/]*")


def _most(values: Iterable[str], test: Callable[[str], object]) -> bool:
    looked = list(values)[:_LOOKED_AT]
    return bool(looked) and sum(bool(test(value)) for value in looked) >= _NEARLY_ALL * len(looked)


def number_of_a_person(column: ColumnValues) -> str | None:
    """Returns what makes the values numbers, addresses or moments of one person each, or None."""
    counts = column.known
    if _most(counts, _MAIL_OR_WEB.fullmatch):
        return "mail or web addresses"
    if len(counts) > 2 and _most(counts, _HEXADECIMAL.fullmatch):
        return "keys or hashes"
    if column.spelling.clock:
        return "times of day"
    if _most(counts, _COORDINATES.fullmatch) or _are_degrees(column):
        return "coordinates"
    if len(counts) > 2 and column.spelling.kind != "date" and _most(counts, _has_long_digits):
        return "long numbers"
    return None


def _has_long_digits(text: str) -> bool:
    """Returns True for digits in a number that nobody has rounded."""
    digits = "".join(mark for mark in text if mark.isdigit())
    rounded = digits.endswith("000") or "." in text or "," in text
    return len(digits) >= _LONG_DIGITS and not rounded and _DIGITS.fullmatch(text.lstrip("+-(")) is not None


def _are_degrees(column: ColumnValues) -> bool:
    """Returns True for numbers within 180 with four decimals or more, nearly all different."""
    counts = column.known
    if column.spelling.kind != "number" or len(counts) < 20 or column.share_unique < 0.5:
        return False
    numbers = ((text, cells.number(text)) for text in counts)
    fine = [text for text, number in numbers if number is not None and abs(number) <= 180 and "." in text[:-4]]
    return len(fine) >= _NEARLY_ALL * len(counts)


def row_unique(column: ColumnValues) -> bool:
    """Returns True where almost every row has another value, and it is no measurement."""
    if column.share_unique < UNIQUE or column.rows < 2 or column.spelling.kind == "date":
        return False
    return column.spelling.kind != "number" or _counts_up(column)


def counts_people(column: ColumnValues) -> bool:
    """Returns True for whole numbers of cases or persons: spread evenly, and rarely repeated."""
    counts = column.known
    return column.spelling.kind == "number" and len(counts) > max(100, 0.05 * column.rows) and _counts_up(column)


def _counts_up(column: ColumnValues) -> bool:
    """Returns True for whole numbers that are spread as evenly as numbers handed out in turn."""
    counts = sorted(
        (number, rows) for value, rows in column.known.items() if (number := cells.number(value)) is not None
    )
    if any(number != number.to_integral_value() for number, _ in counts):
        return False
    low, span, total = counts[0][0], counts[-1][0] - counts[0][0], sum(rows for _, rows in counts)
    previous, away = 0, 0.0
    for number, rows in counts:
        previous += rows
        away = max(away, abs(float((number - low) / (span or 1)) - previous / total))
    return away < 1.4 / math.sqrt(total)


def prose(column: ColumnValues) -> bool:
    """Returns True for free texts: many words, or long texts, that few rows share."""
    texts = column.known
    if column.spelling.kind != "text" or len(texts) < max(20, 0.05 * column.rows):
        return False
    words = sum(len(text.split()) for text in texts) / len(texts)
    long = sum(len(text) * (3 if re.search(f"[{_CJK}]", text) else 1) for text in texts) / len(texts)
    return words >= _WORDS or long >= _LONG


def addresses(column: ColumnValues) -> bool:
    """Returns True for words with a number of a house."""
    return column.spelling.kind == "text" and len(column.known) > 20 and _most(column.known, _ADDRESS.fullmatch)


def names(column: ColumnValues) -> bool:
    """Returns True for words that could name persons: capitalised words, or a few ideographs."""
    return column.spelling.kind == "text" and _most(column.known, _is_name)


def _is_name(text: str) -> bool:
    """Returns True for words that begin with no small letter. Short codes in capitals are none."""
    if _CJK_NAME.fullmatch(text):
        return True
    words = [word for word in re.split(r"[\s,.'’\-]+", text) if word]
    if not 1 <= len(words) <= 4 or not all(word.isalpha() for word in words) or (len(text) < 4 and text.isupper()):
        return False
    return all(not word[0].islower() or word in _PARTICLES for word in words)
