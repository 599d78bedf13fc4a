/** Header that comes again with other columns, or in another order, as where two exports were joined. */
export const REST_UNDER_OTHER_HEADER =
  'a header with other columns, or in another order, as of a second export: the file was not read from here on'

/** Finds a header below which no row stands under the columns. */
export function findOtherHeader(columns: readonly string[]): (cells: readonly string[]) => boolean {
  // With `duplicates: number`, a column has a number behind its name.
  const nameOf = (name = ''): string => name.trim().replace(/_\d+$/, '')
  const known = columns.map(nameOf)
  const names = new Set(columns.concat(known))
  names.delete('')
  return (cells) => {
    const [first = '', second = ''] = cells
    if (!names.has(first.trim()) && !names.has(second.trim())) return false
    const texts = cells.flatMap((cell) => cell.trim() || [])
    const others = texts.filter((text) => !names.has(text))
    const isHeader = new Set(texts).size > others.length + 1 && others.length * 2 < texts.length
    const isData = others.some((text) => /^\W*\d/.test(text))
    return isHeader && !isData && cells.some((cell, at) => nameOf(cell) !== known[at])
  }
}
