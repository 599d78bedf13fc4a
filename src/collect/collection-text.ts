/** What was collected of a person as text: a line of NDJSON, or rows of CSV in a file for each kind. Pure. */
import type { Parts } from './collect-person.ts'
import { type AskedPerson, type CollectedKind, kindOf } from './kinds.ts'

export type CollectionFormat = 'ndjson' | 'csv'

/** By the name of the file. */
export type CollectedText = ReadonlyMap<string, string>

const NDJSON = 'people.ndjson'
/** Of the content service, a line each; and those that are not listed any more. */
export const ARTICLES = 'articles.ndjson'
export const GONE = 'gone.ndjson'

/** The files of a collection, each with what stands at its head. */
export const filesOf = (format: CollectionFormat, kinds: readonly CollectedKind[]): CollectedText => {
  const areArticles = kinds.some((kind) => kindOf(kind).isOfNobody === true)
  const gone: readonly (readonly [string, string])[] = areArticles ? [[GONE, '']] : []
  if (format === 'ndjson') return new Map([[areArticles ? ARTICLES : NDJSON, ''], ...gone])
  const headOf = (kind: CollectedKind): string => csvLine([...whoOf(kind), ...kindOf(kind).columns])
  return new Map([...kinds.map((kind) => [`${kind}.csv`, headOf(kind)] as const), ...gone])
}

const PERSON = ['reference', 'type', 'accountId']
const whoOf = (kind: CollectedKind): readonly string[] => (kindOf(kind).isOfNobody === true ? [] : PERSON)

/** Items as JSON text, by kind: made once, for the line and for the hash. */
export type ItemTexts = readonly (readonly [kind: string, items: readonly string[]])[]

export const itemTexts = (parts: Parts): ItemTexts =>
  Object.entries(parts).map(([kind, items]) => [kind, items.map((item) => JSON.stringify(item))])

/** @param texts of the same parts */
export function textOf(
  format: CollectionFormat,
  person: AskedPerson,
  parts: Parts,
  texts: ItemTexts,
): CollectedText {
  const { account, accountId } = person
  const articles = texts.find(([kind]) => kind === 'articles')
  if (format === 'ndjson' && articles !== undefined)
    return new Map([[ARTICLES, articles[1].map((article) => `${article}\n`).join('')]])
  if (format === 'ndjson') {
    const { reference, type } = account
    const who = JSON.stringify({ account: { reference, type }, accountId })
    const members = texts.map(([kind, items]) => `,${JSON.stringify(kind)}:[${items.join(',')}]`)
    return new Map([[NDJSON, `${who.slice(0, -1)}${members.join('')}}\n`]])
  }
  const who = [account.reference, account.type, accountId ?? '']
  return new Map(
    Object.entries(parts).map(([kind, items]) => {
      const { columns } = kindOf(kind as CollectedKind)
      const ofWhom = kindOf(kind as CollectedKind).isOfNobody === true ? [] : who
      const lines = items.map((item) => csvLine([...ofWhom, ...columns.map((path) => cellOf(item, path))]))
      return [`${kind}.csv`, lines.join('')]
    }),
  )
}

/** The same for the same items, in whatever order the gateway gives them. JSON text holds no line end. */
export const contentOf = (texts: ItemTexts): string =>
  texts.map(([kind, items]) => [kind, ...items.toSorted()].join('\n')).join('\n\n')

function cellOf(item: object, path: string): string {
  let value: unknown = item
  for (const key of path.split('.'))
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** What a spreadsheet program would take for a formula has an apostrophe before it; a number has none. */
const LIKE_FORMULA = /^(?!-?\d+(?:\.\d+)?$)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

const csvCell = (text: string): string => {
  const cell = LIKE_FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\n`
