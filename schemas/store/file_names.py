"""Names of a store's files, those of Olist's on Kaggle, and whether they are there. Imports nothing heavy."""

from pathlib import Path
from typing import Final

from schemas.errors import InputError

FILE_NAMES: Final = {
    "orders": "olist_orders_dataset.csv",
    "items": "olist_order_items_dataset.csv",
    "payments": "olist_order_payments_dataset.csv",
    "reviews": "olist_order_reviews_dataset.csv",
    "customers": "olist_customers_dataset.csv",
    "products": "olist_products_dataset.csv",
    "sellers": "olist_sellers_dataset.csv",
    "category_translation": "product_category_name_translation.csv",
    "review_causes": "review_causes.csv",
    "customer_hazards": "customer_hazards.csv",
}
HIDDEN_TABLES: Final = ("review_causes", "customer_hazards")


def require_tables(folder: Path) -> set[str]:
    """Return the names in a store's folder, once every table has a file in it that is not empty; none is read.

    Raises:
        InputError: The folder cannot be read, or lacks a table, or one is empty.
    """
    try:
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    except OSError as error:
        raise InputError(
            f"store folder {folder} cannot be read ({error.strerror}); give the folder of Olist's CSV files"
        ) from None
    needed = [name for table, name in FILE_NAMES.items() if table not in HIDDEN_TABLES]
    if missing := [name for name in needed if name not in sizes]:
        raise InputError(
            f"store folder {folder} lacks {', '.join(missing)}; put Olist's CSV files there by these names"
        )
    if empty := [name for name in needed if not sizes[name]]:
        raise InputError(f"{folder / empty[0]} is empty; export it again")
    return set(sizes)
