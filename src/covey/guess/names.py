"""Columns known by their names, in the languages of people's files: a name may hold a column back, never open it."""

from __future__ import annotations

import re

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
    """Returns 0 for what anybody knows of a neighbour, 1 or 2 for what fewer know; None where the name does not say."""
    return next((rank for rank, pattern in enumerate(_KNOWN) if pattern.search(name)), None)
