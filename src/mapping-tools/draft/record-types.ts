/** Whether lines of a flat file are records of several types, told by their first cell, and which belongs to which: by their order alone. Pure. */

export interface RecordType {
  readonly name: string
  /** The type of the record that it belongs to; undefined of the one that begins a row. */
  readonly above: string | undefined
  /** Cells behind the type. */
  readonly cells: number
}

export interface RecordTypes {
  /** The one that begins a row first; each behind the one that it belongs to. */
  readonly types: readonly RecordType[]
  /** Types of lines before the first row and behind the last. */
  readonly skip: readonly string[]
  /** The cell, from 1 behind the type, of a line behind the last row that says how many rows there are. */
  readonly count: { readonly type: string; readonly cell: number } | undefined
}

interface Line {
  readonly type: string
  readonly cells: readonly string[]
}

const CODE = /^[A-Za-z0-9_]{1,8}$/
const MOST_TYPES = 12
/** Share of a type's lines that are as wide as most of them; the others lack cells at their end. */
const ALIKE = 0.95

/**
 * Undefined where the lines could be anything else: rows of a CSV, above all.
 * @param records cells of all lines looked at
 * @param whole whether these are all of the file's
 */
export function recordTypesOf(
  records: readonly (readonly string[])[],
  whole: boolean,
): RecordTypes | undefined {
  const lines = records.map((cells): Line => ({ type: cells[0]?.trim() ?? '', cells }))
  const byType = Map.groupBy(lines, ({ type }) => type)
  if (byType.size < 2 || byType.size > MOST_TYPES || ![...byType.keys()].every((type) => CODE.test(type)))
    return undefined
  // Levels are named in small letters.
  if (new Set([...byType.keys()].map((type) => type.toLowerCase())).size < byType.size) return undefined
  const isOnce = ({ type }: Line): boolean => byType.get(type)?.length === 1
  const first = lines.findIndex((line) => !isOnce(line))
  const end = lines.findLastIndex((line) => !isOnce(line)) + 1
  const row = lines[first]?.type
  if (row === undefined) return undefined
  const [head, body, tail] = [lines.slice(0, first), lines.slice(first, end), lines.slice(end)]
  const rows = grouped(body, row)
  const types = [...new Set(body.map(({ type }) => type))]
  const widths = new Map([...byType].map(([type, its]) => [type, widthOf(its)]))
  // A header is as wide as the rows below it.
  const differ =
    types.length > 1
      ? new Set(types.map((type) => widths.get(type))).size > 1
      : head.length > 0 && head.every(({ type }) => widths.get(type) !== widths.get(row))
  if (!differ || types.some((type) => widths.get(type) === undefined)) return undefined
  // All of one type behind the last row: the file is no list of rows, but one list a type.
  const last = rows.at(-1) ?? []
  const isListed = (type: string): boolean =>
    rows.length > 2 &&
    type !== row &&
    !rows.some((one) => one !== last && one.some((line) => line.type === type))
  if (types.some(isListed)) return undefined
  const above = placesOf(rows, types, row)
  return {
    types: types.map((name) => ({ name, above: above.get(name), cells: (widths.get(name) ?? 1) - 1 })),
    skip: [...new Set([...head, ...tail].map(({ type }) => type))],
    count: whole ? countIn(tail, rows.length) : undefined,
  }
}

/** How many cells most lines have, where none has more; undefined where they are of all widths, or hold nothing. */
function widthOf(lines: readonly Line[]): number | undefined {
  const widest = lines.reduce((most, { cells }) => Math.max(most, cells.length), 0)
  const alike = lines.filter(({ cells }) => cells.length === widest).length
  return widest > 1 && alike >= lines.length * ALIKE ? widest : lines.length === 1 ? widest : undefined
}

/** Lines from one of a type to the next. */
function grouped(lines: readonly Line[], type: string): Line[][] {
  const groups: Line[][] = []
  for (const line of lines)
    if (line.type === type) groups.push([line])
    else groups.at(-1)?.push(line)
  return groups
}

/** Each type's place: in the deepest one that always stands before it and that it is not merely behind. */
function placesOf(
  rows: readonly Line[][],
  types: readonly string[],
  row: string,
): Map<string, string | undefined> {
  const above = new Map<string, string | undefined>([[row, undefined]])
  for (const type of types) {
    if (type === row) continue
    const known = [...above.keys()].reverse()
    above.set(type, known.find((other) => other === row || owns(other, type, rows, above)) ?? row)
  }
  return above
}

function owns(
  other: string,
  type: string,
  rows: readonly Line[][],
  above: ReadonlyMap<string, string | undefined>,
): boolean {
  const groups = rows.flatMap((row) => {
    const parent = above.get(other)
    return parent === undefined ? [row] : grouped(row, parent)
  })
  const places = groups.map((lines) => ({
    others: lines.flatMap((line, at) => (line.type === other ? [at] : [])),
    own: lines.flatMap((line, at) => (line.type === type ? [at] : [])),
  }))
  const always = rows.every((row) => {
    const at = row.findIndex((line) => line.type === type)
    return at === -1 || row.slice(0, at).some((line) => line.type === other)
  })
  const filled = places.filter(({ own }) => own.length > 0)
  const begun = filled.every(({ others, own }) => (others[0] ?? Infinity) < (own[0] ?? 0))
  const between = filled.some(({ others, own }) => own.some((at) => at < (others.at(-1) ?? 0)))
  return always && begun && (between || filled.every(({ others }) => others.length === 1))
}

function countIn(lines: readonly Line[], rows: number): RecordTypes['count'] {
  const found = lines.flatMap(({ type, cells }) =>
    cells.flatMap((cell, at) =>
      at > 0 && /^\d+$/.test(cell.trim()) && Number(cell) === rows ? [{ type, cell: at }] : [],
    ),
  )
  return found.length === 1 ? found[0] : undefined
}
