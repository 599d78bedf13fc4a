/** Writes what came out of cases into their file; comments, the order of keys and the inputs stay as they are. */
import { type Document, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from 'yaml'
import { TOLD_KEYS, type ToldRow } from './cases.ts'
import type { CaseResult } from './run-cases.ts'
import { sharedBy } from './shared-facts.ts'
import { foldRow } from './tell-row.ts'

/** What can stand in a case file, below its cases. */
type Told = string | readonly Told[] | { readonly [key: string]: Told | undefined }

/** @param results one for each case of the file, in order */
export function updateCases(text: string, results: readonly CaseResult[]): string {
  const document = parseDocument(text, { schema: 'failsafe' })
  const { contents } = document
  if (!isMap(contents)) return text
  const shared = sharedBy(results.flatMap(({ full }) => full))
  for (const name of ['always', 'rules'] as const) put(document, contents, name, shared[name])
  const cases = document.get('cases')
  if (!isSeq(cases)) return text
  for (const [at, { full }] of results.entries()) {
    const one = cases.items[at]
    if (!isMap(one)) continue
    const rows = full.map((row) => foldRow(row, shared))
    const [only] = rows
    const told: ToldRow & { rows?: readonly ToldRow[] } =
      rows.length === 1 && only !== undefined ? only : { rows }
    for (const key of [...TOLD_KEYS, 'rows'] as const) put(document, one, key, told[key])
  }
  return document.toString({ lineWidth: 0 })
}

/** What stands above a key that is new. */
const NOTES: Readonly<Record<string, string>> = {
  always: ' What every record above has besides.',
  rules: ' And what those of a rule are sent as.',
}

/** Sets a member of a map, changing only what differs; undefined takes it out. */
function put(document: Document, map: YAMLMap, key: string, told: Told | undefined): void {
  if (told === undefined) {
    map.delete(key)
    return
  }
  const pair = map.items.find((one) => isScalar(one.key) && one.key.value === key)
  if (pair === undefined) {
    const name = document.createNode(key)
    const note = NOTES[key]
    if (note !== undefined) {
      name.commentBefore = note
      name.spaceBefore = true
    }
    map.items.push(document.createPair(name, create(document, key, told)))
  } else if (!merge(document, pair.value, told)) pair.value = create(document, key, told)
}

/** Whether the node could take what is told; otherwise it must be replaced. */
function merge(document: Document, node: unknown, told: Told): boolean {
  if (typeof told === 'string') {
    if (!isScalar(node)) return false
    if (node.value !== told) node.value = told
    return true
  }
  if (isList(told)) {
    return (
      isSeq(node) &&
      node.items.length === told.length &&
      told.every((one, at) => merge(document, node.items[at], one))
    )
  }
  if (!isMap(node)) return false
  const keys = Object.keys(told)
  for (const { key } of [...node.items]) if (!keys.includes(keyText(key))) node.delete(key)
  for (const key of keys) put(document, node, key, told[key])
  node.items.sort((a, b) => keys.indexOf(keyText(a.key)) - keys.indexOf(keyText(b.key)))
  return true
}

const isList = (told: Told): told is readonly Told[] => Array.isArray(told)

const keyText = (key: unknown): string => (isScalar(key) ? String(key.value) : '')

/** Maps that stand on lines of their own, however short. */
const BLOCKS = ['always', 'rules', 'records', 'rejected']

function create(document: Document, key: string, told: Told): Node {
  const node = document.createNode(told)
  layOut(node, key)
  return node
}

/** Few facts stand on one line. */
function layOut(node: unknown, key: string): void {
  if (isSeq(node)) for (const item of node.items) layOut(item, key)
  if (!isMap(node)) return
  node.flow = !BLOCKS.includes(key) && node.items.every(({ value }) => isScalar(value))
  for (const item of node.items) layOut(item.value, keyText(item.key))
}
