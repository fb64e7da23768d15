// Columns of whole numbers that grow, and a table from pairs of them to a row: plain arrays and maps take seconds for millions of rows.

/** A column that grows at its end. */
export class Column {
  private rows = new Int32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.rows.length) {
      const larger = new Int32Array(this.rows.length * 2);
      larger.set(this.rows);
      this.rows = larger;
    }
    this.rows[this.length] = value;
    this.length += 1;
  }

  at(row: number): number {
    return this.rows[row] ?? 0;
  }

  /** As long as the column is now. */
  finished(): Int32Array {
    return this.rows.slice(0, this.length);
  }
}

/** Finds the row of a pair among rows whose pairs are in two columns. Open addressing; a slot holds row + 1. */
export class Pairs {
  private slots: Int32Array;
  private count = 0;

  /** `expected`: so many rows find room before the table has to grow, which takes long. */
  constructor(
    private readonly first: Column,
    private readonly second: Column,
    expected: number,
  ) {
    this.slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(expected, 2048) * 2)));
  }

  /** Null: there is none. */
  row(first: number, second: number): number | null {
    for (let slot = this.slotOf(first, second); ; slot = (slot + 1) & (this.slots.length - 1)) {
      const row = (this.slots[slot] ?? 0) - 1;
      if (row < 0) return null;
      if (this.first.at(row) === first && this.second.at(row) === second) return row;
    }
  }

  /** Adds a row that was not found. */
  add(row: number): void {
    this.count += 1;
    if (this.count * 2 > this.slots.length) {
      const rows = this.slots.filter((slot) => slot > 0);
      this.slots = new Int32Array(this.slots.length * 2);
      for (const known of rows) this.put(known - 1);
    }
    this.put(row);
  }

  private put(row: number): void {
    let slot = this.slotOf(this.first.at(row), this.second.at(row));
    while ((this.slots[slot] ?? 0) > 0) slot = (slot + 1) & (this.slots.length - 1);
    this.slots[slot] = row + 1;
  }

  private slotOf(first: number, second: number): number {
    const mixed = Math.imul(first ^ Math.imul(second, 0x9e3779b1), 0x85ebca6b);
    return (mixed ^ (mixed >>> 15)) & (this.slots.length - 1);
  }
}
