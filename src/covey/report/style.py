"""The page's style: dark on white, one column on a phone, whole charts on paper."""

STYLE = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,"Segoe UI","DejaVu Sans",Arial,sans-serif;margin:0 auto;max-width:64rem;
padding:1rem 1.5rem 3rem;color:#1a1a1a;background:#fff}
h1,h2,h3,p,li,th,td,dd,summary,bdi{overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.2;margin:.3rem 0}
h2{font-size:1.3rem;line-height:1.25;margin:2.2rem 0 .5rem;padding-top:.7rem;border-top:2px solid #1a1a1a}
h3{font-size:1rem;margin:1.1rem 0 .3rem}
p{margin:.4rem 0}
.lead,.note{color:#444}.note{font-size:.9rem;max-width:48rem}
code{font:.82em/1.4 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
pre{background:#f3f3f3;padding:.6rem .8rem;margin:.4rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.answer{border:3px solid #1a1a1a;padding:.6rem 1rem;margin:.8rem 0;display:flex;gap:1.2rem;align-items:center}
.answer .word{font-size:2.1rem;font-weight:800;line-height:1.1}
.answer.no{border-style:double;border-width:8px}.answer.unknown{border-style:dashed}
.answer p{margin:.15rem 0}.answer ul{margin:.2rem 0;padding-left:1.2rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.7rem,1fr));gap:.6rem;margin:.8rem 0}
.tile{border:1px solid #999;padding:.4rem .7rem .5rem;min-width:0}
.tile .name{font-size:.8rem;color:#444}
.tile .value{font-size:1.55rem;font-weight:700;line-height:1.2;overflow-wrap:anywhere}
.tile .more{font-size:.82rem;color:#333;line-height:1.35}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15rem 1rem;margin:.6rem 0}
dt{color:#444}dd{margin:0;min-width:0}
table{border-collapse:collapse}
table.bars{width:100%;table-layout:fixed;margin:.3rem 0}
table.bars col.label{width:27%}table.bars col.figure{width:24%}
.cards table.bars col.label{width:36%}.cards table.bars col.figure{width:27%}
table.bars th{font-weight:400;text-align:left;padding:.1rem .6rem .1rem 0;line-height:1.25;vertical-align:middle}
table.bars thead th{font-size:.8rem;color:#444}table.bars thead tr>*{border-bottom:1px solid #bbb}
table.bars td{padding:.18rem 0;vertical-align:middle;line-height:1.1}
table.bars td.figure,table.bars th.figure{padding:.12rem 0 .12rem .6rem;font-size:.85rem;text-align:left;
font-variant-numeric:tabular-nums}
table.bars svg{display:block}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:.4rem 2rem}
.card{min-width:0;break-inside:avoid}.card th,.card td{font-size:.88rem}
.legend{font-size:.9rem}.swatch{vertical-align:-1px}.patterns{position:absolute}
svg.curve{width:100%;max-width:44rem;height:17rem;display:block;font-size:13px}
svg.curve .grid{stroke:#ccc}svg.curve .curve{stroke:#333;stroke-width:2}
svg.curve .dot{fill:#fff;stroke:#333;stroke-width:2}
svg.curve .here{fill:#1f4e79;stroke:#fff;stroke-width:2}svg.curve .said{font-weight:700}
ul{margin:.3rem 0;padding-left:1.3rem}li{margin:.2rem 0}
summary{cursor:pointer;margin:.5rem 0}
.scroll{overflow-x:auto}
table.cells{font-size:.88rem;font-variant-numeric:tabular-nums;margin:.4rem 0}
table.cells th,table.cells td{padding:.12rem .9rem .12rem 0;text-align:left;vertical-align:top;overflow-wrap:normal}
table.cells bdi{display:inline-block;width:max-content;max-width:16rem;overflow-wrap:break-word}
table.cells thead th{font-weight:400;font-size:.8rem;color:#444;border-bottom:1px solid #bbb;vertical-align:bottom}
.caution{border-left:6px solid #1a1a1a;padding:.1rem 0 .1rem .8rem;font-weight:600}
.facts{width:100%}.facts th,.facts td{text-align:left;font-weight:400;padding:.15rem .8rem .15rem 0;vertical-align:top}
.facts th,.facts td:not(:first-child){overflow-wrap:normal}p code,li code{white-space:nowrap}
.learned{table-layout:fixed}.learned th.topic{font-weight:700;padding-top:.6rem}
.learned th:not(:first-child),.learned td:not(:first-child){width:7rem;overflow-wrap:anywhere}
.learned tbody td{border-top:1px solid #ddd}
.facts thead th{font-size:.8rem;color:#444;border-bottom:1px solid #bbb}
@media (max-width:40rem){
body{padding:.6rem .8rem 2rem}
.answer{display:block;padding:.5rem .8rem}
.tiles{grid-template-columns:1fr 1fr;gap:.4rem}
dl{grid-template-columns:minmax(0,1fr)}dt{margin-top:.4rem}
table.bars col.label,.cards table.bars col.label{width:34%}
table.bars col.figure,.cards table.bars col.figure{width:34%}
table.bars td.figure{font-size:.8rem}
.learned th:not(:first-child),.learned td:not(:first-child){width:4.6rem}
}
@media print{
body{max-width:none;padding:0;font-size:10.5pt}
.tile,tr,figure,.answer,li,pre{break-inside:avoid}h2,h3{break-after:avoid}
.scroll{overflow-x:visible}table.cells bdi{display:inline;overflow-wrap:anywhere}
.cards{grid-template-columns:1fr 1fr}
pre{border:1px solid #999}
}
"""
