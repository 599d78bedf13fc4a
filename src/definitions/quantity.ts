/** Numbers with a unit in jobs and on the command line: `30m`, `1MiB`. */

interface Quantity {
  readonly form: RegExp
  /** Returns a whole number in the smallest unit; undefined if the text has another form. */
  read(text: string): number | undefined
  /** Returns the message for text of another form: "must be …". @param example a text of the right form */
  demand(example: string): string
}

const quantity = (units: Readonly<Record<string, number>>): Quantity => {
  const names = Object.keys(units)
  const form = new RegExp(`^(\\d+(?:\\.\\d+)?)\\s*(${names.join('|')})$`)
  return {
    form,
    read(text) {
      const [, amount, unit = ''] = form.exec(text) ?? []
      return amount === undefined ? undefined : Math.round(Number(amount) * (units[unit] ?? 1))
    },
    demand: (example) => `must be a number and a unit (${names.join(', ')}), like ${example}`,
  }
}

/** Milliseconds. */
export const DURATION = quantity({ ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 })

/** Bytes. */
export const BYTE_SIZE = quantity({
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  kB: 1000,
  MB: 1e6,
  GB: 1e9,
})
