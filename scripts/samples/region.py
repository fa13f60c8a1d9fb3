"""The region that the sample people live in: invented towns, counties and postcodes.

Postcodes begin with a zero on purpose: a reader that takes them for numbers loses it.
"""

from __future__ import annotations

# county -> town -> postcode -> how many live there, roughly, in hundreds
COUNTIES: dict[str, dict[str, dict[str, float]]] = {
    "Harbour Coast": {
        "Port Ellery": {
            "04101": 90,
            "04103": 70,
            "04105": 64,
            "04107": 55,
            "04112": 48,
            "04115": 40,
            "04118": 31,
            "04123": 26,
            "04126": 22,
        },
        "Sandwick": {"04210": 30, "04213": 21, "04217": 9},
        "Gull Bay": {"04317": 8, "04319": 4},
        "Lantern Island": {"04390": 1},
    },
    "Middle Valley": {
        "Oakhaven": {"05201": 44, "05204": 33, "05209": 25, "05211": 19},
        "Millbrook": {"05320": 26, "05322": 17, "05328": 12},
        "Lindow": {"05415": 14, "05418": 8},
        "Fernhill": {"05502": 9},
    },
    "Eastern Plain": {
        "Karsholm": {"06101": 40, "06104": 28, "06108": 17},
        "Windover": {"06230": 16, "06233": 11, "06239": 6},
        "Barley Cross": {"06341": 9, "06345": 4},
        "Saltmarsh": {"06417": 3},
    },
    "High Moors": {
        "Stonegate": {"07110": 19, "07114": 11},
        "Heathfield": {"07225": 8, "07229": 4},
        "Cairn": {"07336": 3},
        "Loch Arran": {"07481": 1, "07485": 1},
    },
}

POSTCODES: dict[str, float] = {
    postcode: people
    for towns in COUNTIES.values()
    for postcodes in towns.values()
    for postcode, people in postcodes.items()
}
TOWN: dict[str, str] = {
    postcode: town for towns in COUNTIES.values() for town, postcodes in towns.items() for postcode in postcodes
}
COUNTY: dict[str, str] = {
    postcode: county for county, towns in COUNTIES.items() for postcodes in towns.values() for postcode in postcodes
}
