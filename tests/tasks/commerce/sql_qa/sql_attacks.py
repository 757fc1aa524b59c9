"""What a hostile query may try, and how it is refused; None where it may run, as it does no harm.

TARGET stands for the path of a file that must not come to be.
"""
# ruff: noqa: S608, ISC004 - the queries are attacks, and ours

from typing import Final

from tasks.commerce.sql_qa.sandbox import Refusal

INVALID, FORBIDDEN, TOO_MUCH = Refusal.INVALID, Refusal.FORBIDDEN, Refusal.TOO_MUCH
COUNTER = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
WIDE = "x" * 700

WRITES: Final = {
    "drop": ("DROP TABLE orders", FORBIDDEN),
    "delete": ("DELETE FROM orders", FORBIDDEN),
    "update": ("UPDATE orders SET order_status = 'x'", FORBIDDEN),
    "insert": ("INSERT INTO orders (order_id) VALUES ('x')", FORBIDDEN),
    "replace into": ("REPLACE INTO orders (order_id) VALUES ('x')", FORBIDDEN),
    "upsert": ("INSERT INTO orders (order_id) VALUES ('x') ON CONFLICT DO NOTHING", FORBIDDEN),
    "create": ("CREATE TABLE t (x)", FORBIDDEN),
    "create as": ("CREATE TEMP TABLE t AS SELECT * FROM orders", FORBIDDEN),
    "create view": ("CREATE VIEW v AS SELECT * FROM orders", FORBIDDEN),
    "create temp view": ("CREATE TEMP VIEW orders AS SELECT 1 AS order_id", FORBIDDEN),
    "create index": ("CREATE INDEX i ON orders (order_status)", FORBIDDEN),
    "create trigger": ("CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM items; END", FORBIDDEN),
    "create virtual table": ("CREATE VIRTUAL TABLE v USING fts5(x)", FORBIDDEN),
    "create rtree": ("CREATE VIRTUAL TABLE v USING rtree(id, a, b)", FORBIDDEN),
    "alter": ("ALTER TABLE orders ADD COLUMN x", FORBIDDEN),
    "rename": ("ALTER TABLE orders RENAME TO x", FORBIDDEN),
    "write in a cte": ("WITH x AS (SELECT 1) DELETE FROM orders", FORBIDDEN),
    "update from a cte": ("WITH x AS (SELECT 1 AS n) UPDATE orders SET order_status = (SELECT n FROM x)", FORBIDDEN),
    "returning": ("INSERT INTO orders (order_id) VALUES ('x') RETURNING order_id", FORBIDDEN),
    "delete returning": ("DELETE FROM orders RETURNING *", FORBIDDEN),
    "delete limit": ("DELETE FROM orders ORDER BY order_id LIMIT 1", FORBIDDEN),
    "schema write": ("UPDATE sqlite_master SET sql = ''", INVALID),
    "begin": ("BEGIN EXCLUSIVE", FORBIDDEN),
    "commit": ("COMMIT", FORBIDDEN),
    "savepoint": ("SAVEPOINT s", FORBIDDEN),
    "analyze": ("ANALYZE", FORBIDDEN),
    "reindex": ("REINDEX", FORBIDDEN),
    "vacuum": ("VACUUM", FORBIDDEN),
    "two statements": ("SELECT 1; DROP TABLE orders", INVALID),
    "hidden statement": ("SELECT 1 /* */; -- \n DELETE FROM orders", INVALID),
    "statement after a comment": ("/* ; */ -- ;\n DROP TABLE orders", FORBIDDEN),
    "statement in an open comment": ("DROP TABLE orders /*", INVALID),
    "empty statement first": ("; ; DROP TABLE orders", FORBIDDEN),
}
FILES: Final = {
    "attach": ("ATTACH DATABASE 'TARGET' AS x", FORBIDDEN),
    "attach by uri": ("ATTACH 'file:TARGET?mode=rwc' AS x", FORBIDDEN),
    "detach": ("DETACH DATABASE main", FORBIDDEN),
    "vacuum into": ("VACUUM INTO 'TARGET'", FORBIDDEN),
    "load extension": ("SELECT load_extension('TARGET')", FORBIDDEN),
    "write file": ("SELECT writefile('TARGET', 'x')", INVALID),
    "read file": ("SELECT readfile('/etc/passwd')", INVALID),
    "list folder": ("SELECT * FROM fsdir('/')", INVALID),
    "edit": ("SELECT edit('x')", INVALID),
    "import": (".import TARGET orders", INVALID),
    "output": (".output TARGET\nSELECT 1", INVALID),
    "temp folder": ("PRAGMA temp_store_directory = 'TARGET'", FORBIDDEN),
    "journal": ("PRAGMA journal_mode = DELETE", FORBIDDEN),
    "sort that would spill": (f"SELECT '{WIDE}' || a.rowid FROM orders a, orders b, orders c ORDER BY 1", TOO_MUCH),
}
INSIDES: Final = {
    "pragma": ("PRAGMA query_only = OFF", FORBIDDEN),
    "writable schema": ("PRAGMA writable_schema = ON", FORBIDDEN),
    "heap limit": ("PRAGMA hard_heap_limit = 1", FORBIDDEN),
    "pragma after a comment": ("/**/ PRAGMA user_version", FORBIDDEN),
    "pragma table": ("SELECT * FROM pragma_database_list", FORBIDDEN),
    "pragma function": ("SELECT * FROM pragma_table_info('orders')", FORBIDDEN),
    "compile options": ("SELECT COUNT(*) FROM pragma_compile_options", FORBIDDEN),
    "schema": ("SELECT sql FROM sqlite_master", FORBIDDEN),
    "schema by its new name": ("SELECT COUNT(*) FROM sqlite_schema", FORBIDDEN),
    "temp schema": ("SELECT * FROM sqlite_temp_master", FORBIDDEN),
    "schema in a subquery": ("SELECT (SELECT name FROM sqlite_master LIMIT 1) FROM orders", FORBIDDEN),
    "schema in a union": ("SELECT order_id FROM orders UNION SELECT sql FROM main.sqlite_master", FORBIDDEN),
    "statistics": ("SELECT * FROM sqlite_stat1", FORBIDDEN),
    "dbstat": ("SELECT * FROM dbstat", INVALID),
    "stmt": ("SELECT * FROM sqlite_stmt", INVALID),
    "bytecode": ("SELECT * FROM bytecode('SELECT 1')", INVALID),
    "explain": ("EXPLAIN SELECT * FROM orders", FORBIDDEN),
    "explain plan": ("/* x */ EXPLAIN QUERY PLAN SELECT * FROM orders", FORBIDDEN),
    "virtual table": ("SELECT * FROM json_each('[1]')", INVALID),
    "json tree": ("SELECT COUNT(*) FROM json_tree('[[[[1]]]]')", INVALID),
    "json function": ("SELECT json_group_array(order_id) FROM orders", FORBIDDEN),
    "json arrow": ("SELECT '{\"a\": 1}' -> 'a'", FORBIDDEN),
    "generate series": ("SELECT * FROM generate_series(1, 1000000000)", INVALID),
    "fts": ("SELECT * FROM orders WHERE orders MATCH 'x'", FORBIDDEN),
    "tokenizer": ("SELECT fts3_tokenizer('x')", FORBIDDEN),
    "rtree check": ("SELECT rtreecheck('orders')", FORBIDDEN),
    "version": ("SELECT sqlite_version()", FORBIDDEN),
    "offset of a column": ("SELECT sqlite_offset(price) FROM items", INVALID),
    "changes": ("SELECT total_changes()", FORBIDDEN),
    "parameter": ("SELECT ?", INVALID),
    "named parameter": ("SELECT :x, @y, $z", INVALID),
}
CLOCK_AND_CHANCE: Final = {
    "now": ("SELECT date('now')", FORBIDDEN),
    "now in capitals": ("SELECT datetime('NOW')", FORBIDDEN),
    "now put together": ("SELECT julianday('n' || 'ow')", FORBIDDEN),
    "now cut out": ("SELECT date(substr('snow', 2))", FORBIDDEN),
    "now from a subquery": ("SELECT time(x) FROM (SELECT lower('NOW') AS x)", FORBIDDEN),
    "now as bytes": ("SELECT unixepoch(x'6e6f77')", FORBIDDEN),
    "now before a null": ("SELECT strftime('%s', CAST(x'6e6f7700' AS TEXT))", FORBIDDEN),
    "now in double quotes": ('SELECT date("now")', FORBIDDEN),
    "no argument": ("SELECT date()", FORBIDDEN),
    "format only": ("SELECT strftime('%Y')", FORBIDDEN),
    "local time": ("SELECT datetime('2018-01-01', 'localtime')", FORBIDDEN),
    "utc": ("SELECT datetime('2018-01-01', 'utc')", FORBIDDEN),
    "current timestamp": ("SELECT CURRENT_TIMESTAMP", FORBIDDEN),
    "current date": ("SELECT COUNT(*) FROM orders WHERE order_purchase_timestamp < current_date", FORBIDDEN),
    "current time": ("SELECT CURRENT_TIME FROM orders", FORBIDDEN),
    "random": ("SELECT random()", FORBIDDEN),
    "random order": ("SELECT order_id FROM orders ORDER BY RANDOM() LIMIT 1", FORBIDDEN),
    "random bytes": ("SELECT randomblob(16)", FORBIDDEN),
}
BOMBS: Final = {
    "zeroblob": ("SELECT zeroblob(2000000000)", FORBIDDEN),
    "large random bytes": ("SELECT hex(randomblob(1000000000))", FORBIDDEN),
    "printf": ("SELECT printf('%.*c', 1000000000, 'x')", FORBIDDEN),
    "format": ("SELECT format('%1000000000d', 1)", FORBIDDEN),
    "printf in quotes": ("SELECT \"printf\"('%*d', 1000000000, 1), printf('%d', 1)", FORBIDDEN),
    "printf behind a comment": ("SELECT printf/**/('%*d', 1000000000, 1), 'printf(''%d'')'", FORBIDDEN),
    "printf put together": ("SELECT printf('%' || '1000000000d', 1)", FORBIDDEN),
    "printf of an escaped quote": ("SELECT printf('a''%1000000000d', 1)", FORBIDDEN),
    "printf of digits": (
        "SELECT SUM(length(printf('%.900f', a.price * b.price))) FROM items a, items b, items c",
        FORBIDDEN,
    ),
    "hex": ("SELECT hex(hex(hex(order_id))) FROM orders", FORBIDDEN),
    "quote": ("SELECT quote(quote(quote(order_id))) FROM orders", FORBIDDEN),
    "replace": (
        "SELECT replace(replace('aaaa', 'a', 'aaaaaaaaaaaa'), 'a', 'a' || hexes) FROM (SELECT '" + WIDE + "' AS hexes)",
        TOO_MUCH,
    ),
    "replace often": (
        f"SELECT SUM(length(replace('{'ab' * 200}' || b.rowid, 'a', 'cc'))) FROM items a, items b, items c",
        TOO_MUCH,
    ),
    "unicode": ("SELECT char(1114111, -1), unicode('x')", FORBIDDEN),
    "concatenation": (f"SELECT s || s FROM (SELECT '{WIDE}' AS s FROM orders)", TOO_MUCH),
    "group_concat": ("SELECT group_concat(a.order_id || b.order_id) FROM orders a, orders b, orders c", TOO_MUCH),
    "strftime": ("SELECT strftime('" + "%J" * 400 + "', order_purchase_timestamp) FROM orders", TOO_MUCH),
    "dates": (
        "SELECT COUNT(*) FROM orders a, orders b "
        "WHERE julianday(a.order_purchase_timestamp, '+' || b.rowid || ' days') > 0",
        TOO_MUCH,
    ),
    "dates of a counter": (f"{COUNTER} SELECT SUM(julianday(n)) FROM t", TOO_MUCH),
    "like on long text": (
        "SELECT COUNT(*) FROM orders a, orders b, orders c "
        f"WHERE '{WIDE}' || a.rowid || b.rowid || c.rowid LIKE '{'%x_' * 30}z'",
        TOO_MUCH,
    ),
    "trim on long text": (
        f"SELECT SUM(length(ltrim('{'a' * 600}' || b.rowid, 'zyxwvutsrqponmlkjihgfedcba'))) "
        "FROM items a, items b, items c",
        TOO_MUCH,
    ),
    "instr on long text": (
        f"SELECT SUM(instr('{'a' * 500}' || a.rowid, '{'a' * 250}b')) FROM orders a, orders b, orders c",
        TOO_MUCH,
    ),
    "multiplying tables of three": (
        "WITH a AS (SELECT 1 FROM orders), b AS (SELECT 1 FROM "
        + ", ".join(["a"] * 12)
        + "), c AS (SELECT 1 FROM "
        + ", ".join(["b"] * 12)
        + ") SELECT COUNT(*) FROM "
        + ", ".join(["c"] * 12),
        TOO_MUCH,
    ),
    "recursive bomb": (f"{COUNTER} SELECT n FROM t", TOO_MUCH),
    "recursive count": (f"{COUNTER} SELECT SUM(n) FROM t", TOO_MUCH),
    "recursive product": (f"{COUNTER} SELECT COUNT(*) FROM t a, t b", TOO_MUCH),
    "recursive distinct": (
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT n + 1 FROM t) SELECT MAX(n) FROM t",
        TOO_MUCH,
    ),
    "recursive limit": (f"{COUNTER} SELECT n FROM t LIMIT 1000000000", TOO_MUCH),
    "recursive join": (
        "WITH RECURSIVE t(x) AS (SELECT order_id FROM orders UNION ALL SELECT a.order_id FROM t, orders a) "
        "SELECT COUNT(*) FROM t",
        TOO_MUCH,
    ),
    "doubling text": (
        "WITH RECURSIVE t(s) AS (SELECT 'xxxx' UNION ALL SELECT s || s FROM t) SELECT length(s) FROM t",
        TOO_MUCH,
    ),
    "growing rows": (
        f"WITH RECURSIVE t(n, s) AS (SELECT 1, '{'x' * 700}' UNION ALL SELECT n + 1, s FROM t) "
        "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY s, n)",
        TOO_MUCH,
    ),
    "cartesian runaway": ("SELECT COUNT(*) FROM orders a, orders b, orders c, orders d, orders e", TOO_MUCH),
    "cartesian sort": (
        "SELECT a.order_id || b.order_id FROM orders a, orders b, orders c, items d ORDER BY 1",
        TOO_MUCH,
    ),
    "cartesian distinct": (
        "SELECT COUNT(DISTINCT a.order_id || b.price) FROM orders a, items b, items c, items d",
        TOO_MUCH,
    ),
    "wide group": (
        f"SELECT '{WIDE}' || a.rowid || b.rowid, COUNT(*) FROM orders a, orders b, items c GROUP BY 1",
        TOO_MUCH,
    ),
    "wide distinct": (f"SELECT DISTINCT '{WIDE}' || a.rowid || b.rowid FROM orders a, orders b, items c", TOO_MUCH),
    "wide distinct counts": (
        f"SELECT COUNT(DISTINCT s || 1), COUNT(DISTINCT s || 2), COUNT(DISTINCT s || 3), COUNT(DISTINCT s || 4) FROM "
        f"(SELECT '{WIDE}' || a.rowid || '.' || b.rowid AS s FROM orders a, orders b, orders c)",
        TOO_MUCH,
    ),
    "wide copies": (
        "SELECT COUNT(*) FROM (SELECT DISTINCT s, a.rowid, b.rowid, c.rowid FROM orders a, orders b, items c, "
        f"(SELECT '{WIDE}' AS s))",
        TOO_MUCH,
    ),
    "wide groups": (
        f"SELECT COUNT(DISTINCT s), MAX(s), group_concat(s) FROM (SELECT '{WIDE}' || a.rowid || '.' || b.rowid AS s "
        "FROM orders a, orders b, orders c) GROUP BY s",
        TOO_MUCH,
    ),
    "wide window": (
        f"SELECT LAG(s, 9) OVER (ORDER BY r), LEAD(s) OVER (ORDER BY r DESC) FROM (SELECT '{WIDE}' || b.rowid AS s, "
        "a.rowid AS r FROM orders a, orders b)",
        TOO_MUCH,
    ),
    "wide result": ("SELECT " + ", ".join(["a.*"] * 8) + f", '{WIDE}' FROM orders a, orders b LIMIT 300", None),
    "wide result of texts": (
        "SELECT " + ", ".join(["s || 1"] * 30) + f" FROM (SELECT '{WIDE}' || rowid AS s FROM orders) LIMIT 300",
        None,
    ),
    "wide union": (
        "SELECT a.order_id || b.order_id || c.order_id FROM orders a, orders b, orders c "
        "UNION SELECT order_id FROM orders",
        TOO_MUCH,
    ),
    "cross without a condition": ("SELECT AVG(price) FROM orders, customers, items, products", TOO_MUCH),
    "window explosion": (
        "SELECT SUM(a.price) OVER (ORDER BY b.price ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) "
        "FROM items a, items b, items c",
        TOO_MUCH,
    ),
    "window of texts": (
        "SELECT group_concat(a.order_id) OVER (ORDER BY b.order_id) FROM orders a, orders b, orders c",
        TOO_MUCH,
    ),
    "many windows": (
        "SELECT "
        + ", ".join(f"LAG(a.order_id || b.order_id, {n}) OVER (ORDER BY b.rowid % {n})" for n in range(2, 14))
        + " FROM orders a, orders b, orders c",
        TOO_MUCH,
    ),
    "correlated subqueries": (
        "SELECT COUNT(*) FROM items a WHERE price > (SELECT AVG(price) FROM items b WHERE b.freight_value < "
        "a.freight_value AND b.price > (SELECT MIN(price) FROM items c WHERE c.price + a.price > b.price))",
        TOO_MUCH,
    ),
    "like pathology": (
        "SELECT COUNT(*) FROM orders a, orders b, orders c WHERE a.order_id || b.order_id || c.order_id LIKE "
        f"'{'%_' * 60}z'",
        TOO_MUCH,
    ),
    "glob pathology": (
        "SELECT COUNT(*) FROM orders a, orders b, orders c WHERE a.order_id || b.order_id || c.order_id GLOB "
        f"'{'*[a-z0-9]' * 20}!'",
        TOO_MUCH,
    ),
    "long like": (f"SELECT COUNT(*) FROM orders WHERE order_id LIKE '{'%a' * 150}'", INVALID),
    "regexp": ("SELECT COUNT(*) FROM orders WHERE order_id REGEXP '(a+)+$'", INVALID),
    "too many rows": ("SELECT a.order_id FROM orders a, orders b", TOO_MUCH),
    "many tables": ("SELECT COUNT(*) FROM " + ", ".join(f"orders o{number}" for number in range(39)), TOO_MUCH),
    "many joins": ("SELECT COUNT(*) FROM orders " + "NATURAL JOIN customers " * 38, INVALID),
    "deep parentheses": ("SELECT " + "(" * 450 + "1" + ")" * 450, INVALID),
    "deep expression": ("SELECT " + "+".join("1" * 400), INVALID),
    "deep queries": ("SELECT * FROM (" * 60 + "SELECT 1" + ")" * 60, INVALID),
    "deep case": ("SELECT " + "CASE WHEN 1 THEN " * 45 + "1" + " END" * 45, INVALID),
    "deep not": ("SELECT " + "NOT " * 240 + "1", INVALID),
    "huge list": ("SELECT COUNT(*) FROM items WHERE price IN (" + ", ".join(map(str, range(200))) + ")", TOO_MUCH),
    "many values": ("VALUES " + ", ".join(["(1)"] * 100), TOO_MUCH),
    "union chain": (" UNION ALL ".join(["SELECT 1"] * 45), INVALID),
    "intersect chain": (" INTERSECT ".join(["SELECT order_id FROM orders"] * 20), INVALID),
    "long text": ("SELECT '" + "x" * 100_000 + "'", TOO_MUCH),
    "very long text": ("SELECT " + "1 + " * 500_000 + "1", TOO_MUCH),
    "comments after a name": ("SELECT 1 AS " + "/**/" * 200 + "x", None),
    "comments first": ("/**/" * 200 + "EXPLAIN SELECT 1", FORBIDDEN),
    "comments before nothing": ("/**/" * 240, INVALID),
    "long comment": ("SELECT 1 --" + "x" * 5_000_000, TOO_MUCH),
    "doubling tables": (
        "WITH a AS (SELECT 1 x), "
        + ", ".join(
            f"{new} AS (SELECT p.x FROM {old} p, {old} q)" for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
        )
        + " SELECT COUNT(*) FROM k",
        TOO_MUCH,
    ),
    "multiplying tables": (
        "WITH a AS (VALUES "
        + ", ".join(["(1)"] * 90)
        + "), b AS (SELECT 1 FROM "
        + ", ".join(["a"] * 60)
        + ") SELECT COUNT(*) FROM "
        + ", ".join(["b"] * 60),
        TOO_MUCH,
    ),
    "integer overflow": ("SELECT SUM(9223372036854775807) FROM orders", INVALID),
    "absolute overflow": ("SELECT abs(-9223372036854775807 - 1)", INVALID),
}
TEXTS: Final = {
    "null character": ("SELECT 1\0; DROP TABLE orders", INVALID),
    "null character inside": ("SELECT 'a\0b'", INVALID),
    "lone surrogate": ("SELECT '\ud800'", INVALID),
    "byte order mark": ("\ufeffDROP TABLE orders", FORBIDDEN),
    "wide letters": ("\uff24\uff32\uff2f\uff30 TABLE orders", INVALID),
    "zero width": ("DR\u200bOP TABLE orders", INVALID),
    "right to left": ("SELECT 1 \u202e; orders ELBAT PORD", INVALID),
    "combining marks": ("SELECT " + "e\u0301" * 400, INVALID),
    "nothing": ("", INVALID),
    "semicolons": (";" * 500, INVALID),
    "comment": ("-- nothing", INVALID),
    "open comment": ("/* nothing", INVALID),
    "open quote": ("SELECT '", INVALID),
    "bare": ("SELECT", INVALID),
    "prose": ("Quantos pedidos há?", INVALID),
    "infinity": ("SELECT 9e999, -9e999", None),
    "bytes": ("SELECT x'ff00ff'", None),
    "broken text": ("SELECT CAST(x'ff41' AS TEXT)", None),
}
ATTACKS: Final = {**WRITES, **FILES, **INSIDES, **CLOCK_AND_CHANCE, **BOMBS, **TEXTS}
