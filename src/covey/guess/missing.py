"""Cells that mean "no value": words, days that nobody means, and numbers apart from others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from covey import cells

_ALWAYS_WORDS = """\
* na n/a #n/a #n/v n.a. n.a <na> nan null nil - -- --- – — ? ?? ??? . .. ... _ n/v k.a. k.a k/a n.d. s/d s.d.
n.r. n.b. n.v.t. b.d. n.c. n.k.
notavailable notapplicable notstated notreported notknown noanswer nodata noresponse missing missingvalue unknown
don'tknow unspecified keineangabe keineangaben keineantwort ohneangabe nichtbekannt unbekannt fehlt
fehlend weißnicht sansobjet nonrenseigné nonconnu nonapplicable inconnu inconnue nesaitpas sansréponse manquant
nonréponse sindato sindatos nodisponible noaplica nosabe desconocido desconocida nocontesta ns/nc nondisponibile
nonapplicabile sconosciuto nonnoto nonrisponde nãoinformado nãodisponível ignorado desconhecido semdados
nãoaplicável onbekend nietbekend geenantwoord uppgiftsaknas okänt ukendt ukjent brakdanych nieznany
нетданных неизвестно н/д нд неуказано 未 未記入 不明 未回答 未入力 無回答 無記入 未測定 該当なし 不詳
未知 不详 缺失 无数据 未填 未填写 不适用 拒答 무응답 미상 모름 해당없음 미기재 결측
"""
_ALWAYS = frozenset(_ALWAYS_WORDS.casefold().split())
_CODED = frozenset({"nr", "nd", "ns", "nsp", "nk", "dk", "unk", "unkn"})
"""Short words that are missing unless the column is one of codes of two letters."""
_NUMBER_WORDS = """\
none no empty blank refused nat ninguno ninguna sans aucun aucune keine keiner nessuno nenhum uk un
inf -inf +inf infinity -infinity なし 無し 無 无 没有 없음 нет brak geen #value! #ref! #div/0! #num! #name? err error
"""
_AMONG_NUMBERS = frozenset(_NUMBER_WORDS.casefold().split())
"""Words that are values among words: "none" may be a degree of illness."""
_LONGEST_WORD = 32
_BRACKETS = str.maketrans("", "", "()[]<>{}\"'")
_NO_DATE = re.compile(r"([09])\1{0,3}([./ -])\1{1,2}\2\1{1,4}(?:[T ][\d:.]*)?|0+|-1|9{6,8}")
_NO_DAYS_LIST = """\
0001-01-01 1111-11-11 1582-10-15 1600-01-01 1601-01-01 1700-01-01 1753-01-01 1800-01-01 1899-12-30 1899-12-31
1900-01-01 1900-12-31 1901-01-01 1904-01-01 1910-01-01 1950-01-01 1960-01-01 1970-01-01 2050-12-31 2099-12-31
2100-01-01 2100-12-31 2199-12-31 2999-12-31 3000-12-31 3999-12-31
"""
_NO_DAYS = frozenset(_NO_DAYS_LIST.split())
_FEWEST_YEARS = 5  # between a day that nobody means and all others

_CODE = re.compile(r"(-?)(?:(9+|8+|7+)|9+[678])")
_LEAST_SHARE = Decimal("0.01")
_LEAST_GAP = Decimal("0.15")  # of the range of the others
_MOST_CODES = 5
_MOST_NINES = Decimal("0.3")  # of the rows end with a nine: prices do
_NEAR = 5  # values at the end that say how far apart values are there; fewer rows with a code say nothing


def is_word(text: str, *, among_words: bool) -> bool:
    """Returns True if the text says that there is no value."""
    if len(text) > _LONGEST_WORD:
        return False
    key = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    bare = key.translate(_BRACKETS)
    if {key, bare} & _ALWAYS or bare in _CODED:
        return True
    return not among_words and bool({key, bare} & _AMONG_NUMBERS)


def words(texts: Collection[str], *, among_words: bool) -> set[str]:
    """Returns the texts that say that there is no value. Among codes of two letters, NA is Namibia."""
    null = {text for text in texts if is_word(text, among_words=among_words)}
    values = [text for text in texts if text not in null]
    if among_words and values and all(len(text) == 2 and text.isalpha() and text.isupper() for text in values):
        return {text for text in null if not (len(text) == 2 and text.isalpha())}
    return null


def days(labels: Mapping[str, str]) -> set[str]:
    """Returns the cells whose day nobody means: 1900-01-01, years from all other days."""
    odd = {text for text, label in labels.items() if label in _NO_DAYS or label[:1] == "9"}
    years = sorted({int(label[:4]) for text, label in labels.items() if text not in odd})
    return {
        text
        for text in odd
        if labels[text][0] == "9"
        or (years and not years[0] - _FEWEST_YEARS < int(labels[text][:4]) < years[-1] + _FEWEST_YEARS)
    }


def is_no_day(text: str) -> bool:
    """Returns True for a date of zeros or of nines: 0000-00-00, 99.99.9999."""
    return _NO_DATE.fullmatch(text) is not None


def numbers(counts: Mapping[Decimal, int]) -> list[Decimal]:
    """Returns the codes for "no value", such as -9 or 999, apart from all others."""
    codes: list[Decimal] = []
    values = sorted(counts)
    rows = sum(counts.values())
    while end := _at_end(values[::-1], counts, rows) or _at_end(values, counts, rows):
        codes += end
        values = [value for value in values if value not in end]
    return sorted(codes)


def _at_end(values: Sequence[Decimal], counts: Mapping[Decimal, int], rows: int) -> Sequence[Decimal]:
    """Returns the codes at the beginning of values that come in order from one end."""
    negative = values[0] < values[-1] if values else False
    run = 0
    while run < min(len(values) - 2, _MOST_CODES) and _is_code(values[run], negative=negative):
        run += 1
    lengths = (length for length in range(run, 0, -1) if _apart(values[:length], values[length:], counts, rows))
    return values[: next(lengths, 0)]


def _is_code(value: Decimal, *, negative: bool) -> bool:
    """Returns True for nines, eights, sevens, and for 996 to 998. From below also for -1."""
    match = _CODE.fullmatch(cells.spell(value).replace(".", ""))
    return (negative and value == -1) or (match is not None and bool(match[1]) == negative)


def _apart(codes: Sequence[Decimal], values: Sequence[Decimal], counts: Mapping[Decimal, int], rows: int) -> bool:
    """Returns True if the codes are far from the rest, or stand out otherwise."""
    neighbours = values[: _NEAR + 1]
    gap, width = abs(codes[-1] - values[0]), abs(values[0] - values[-1])
    step = max(abs(first - second) for first, second in pairwise(neighbours))
    coded = sum(counts[value] for value in codes)
    negative, wide = codes[0] < 0 <= min(values), gap >= 2 * width
    nines = all(set(cells.spell(value)) <= set("-.9") for value in codes)
    digits = len(cells.spell(codes[0]).strip("-"))
    if nines and digits > 1 and (negative or wide):
        return True
    if nines and negative and gap >= 3 * step and coded > 1:
        return True
    priced = sum(counts[value] for value in values if cells.spell(value)[-1] == "9") > _MOST_NINES * (rows - coded)
    rare = coded < _LEAST_SHARE * rows or coded < (2 if wide else _NEAR)
    if rare or (priced and not negative):
        return False
    if gap >= 3 * step and (negative or gap >= _LEAST_GAP * width):
        return True
    if negative and codes[0] == codes[-1] == -1 and len(values) >= _NEAR:
        return True
    spike = coded >= 2 * _NEAR and coded >= _NEAR * max(counts[value] for value in neighbours)
    return spike and (gap >= 2 * step or (nines and digits >= 4))
