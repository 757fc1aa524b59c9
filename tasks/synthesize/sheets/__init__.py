"""Tables in what shops export: CSV and workbooks with title lines, columns of one name, totals and merged cells."""
