import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sections, tableRows } from '../../../test/docs/pages.ts'
import { CORPUS, needing } from '../../../test/needed.ts'
import { SUITE } from '../src/suite.ts'

const FILE = join(CORPUS ?? '', '..', 'gateway-interface.md')
const WITHOUT_DOCUMENT = CORPUS === undefined || !existsSync(FILE)
const NEEDS_DOCUMENT = needing(
  !WITHOUT_DOCUMENT,
  'the interface document beside the folder that WAYBILL_CORPUS names',
)

/** Rows that no program can check. */
const ROW_EXCEPTIONS: Readonly<Record<string, string>> = {
  'Medical-records request (ROI) / {base_url}': "the text is damaged: the field's name is lost",
}

/** Sentences outside the tables that have no case, with the reason. */
const SENTENCE_EXCEPTIONS: Readonly<Record<string, string>> = {
  "the service: stores a user's health data.": 'an overview; its endpoints are cases',
  'It creates and reads biometric records': 'an overview; its endpoints are cases',
  'It creates and reads condition records.': 'an overview; its endpoints are cases',
  "Age assessment: returns a user's biological-age result": 'an overview; its endpoints are cases',
  'It also serves the test itself page by page': 'an overview; its endpoints are cases',
  'Content: serves static content': 'an overview; its endpoints are cases',
  'Medical-records requester: submits, updates, searches and deletes': 'an overview; its endpoints are cases',
  'It returns an upload address for the authorization PDF': 'an overview; its endpoints are cases',
  'User-centric calls identify the user by an account reference': 'the section "Account reference" says it',
  'Most responses are wrapped as follows.': 'which ones, the endpoints say',
  'Headers are listed under Authentication.': 'a pointer',
  'Query parameters are accountReference and accountReferenceType': 'the section "Account reference" says it',
  'The list supports filtering and pagination.': 'the names of the parameters are not shown',
  'Response of the upload PUT: see the table row above.': 'a pointer',
  'No events are delivered.': 'what is never sent cannot be awaited',
  'are deprecated.': 'no behaviour; that they answer is a case of "Endpoints"',
  'Environments are distinguished by base address.': 'a gateway is one address',
}

interface Section {
  readonly name: string
  /** Its own text, tables with it, without marks of code. */
  readonly text: string
  /** First cells of its tables; of the tables of endpoints, method and path. */
  readonly rows: readonly string[]
  /** Meaningful lines outside its tables. */
  readonly sentences: readonly string[]
}

const plain = (text: string): string => text.replaceAll('`', '').replaceAll(/\s+/g, ' ').trim()

/** `Biometrics` of `the service: biometrics`. */
const withoutService = (heading: string): string =>
  heading.replace(/^the service: (.)/, (_, first: string) => first.toUpperCase())

/** The document's sections, named as the cases name them. */
function readDocument(): Section[] {
  const text = readFileSync(FILE, 'utf8')
  return [...sections(text, 2)].flatMap(([chapter, body]) => {
    const prefix = { 'States and transitions': 'States: ', Endpoints: 'Endpoints: ' }[chapter] ?? ''
    const own = body.split(/^### /m)[0] ?? ''
    return [
      sectionOf(chapter, own),
      ...[...sections(body, 3)].map(([heading, text]) =>
        sectionOf(prefix + withoutService(plain(heading)), text),
      ),
    ]
  })
}

function sectionOf(name: string, text: string): Section {
  const rows = text.split(/\n\n+/).flatMap((block) => {
    const cells = block.startsWith('| Method | Path |') ? 2 : 1
    return tableRows(block).map((row) => plain(row.slice(0, cells).join(' ')))
  })
  return { name, text: plain(text.replaceAll('|', ' ')), rows, sentences: sentencesOf(text) }
}

/** Without headings of tables and lists, and what is said to be not shown. */
function sentencesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('|') && !line.startsWith('#'))
    .flatMap((line) => plain(line.replace(/^(- |\d+\. )/, '')).split(/(?<=\.) (?=[A-Z])/))
    .filter((sentence) => sentence !== '' && !/(:|not shown\.)$/.test(sentence))
}

const nameOf = ({ section, row }: { section: string; row: string }): string => `${section} / ${row}`

describe('the conformance suite and the interface document', NEEDS_DOCUMENT, () => {
  const document = WITHOUT_DOCUMENT ? [] : readDocument()
  const rows = document.flatMap(({ name, rows }) => rows.map((row) => nameOf({ section: name, row })))
  const covered = new Set(SUITE.map(nameOf))

  it('reads the tables of the document', () => {
    expect(rows.length).toBeGreaterThan(150)
  })

  it('has a case for every row of every table, but for the exceptions', () => {
    expect(rows.filter((row) => !covered.has(row)).sort()).toEqual(Object.keys(ROW_EXCEPTIONS).sort())
  })

  it('names no row and quotes no words that are not in their section', () => {
    const stray = SUITE.filter(({ section, row }) => {
      const found = document.find(({ name }) => name === section)
      return found === undefined || !(found.rows.includes(row) || found.text.includes(row))
    })
    expect(stray.map(nameOf)).toEqual([])
  })

  it('has a case for every sentence outside the tables, but for the exceptions', () => {
    const without = document.flatMap(({ name, sentences }) => {
      const quoted = SUITE.filter(({ section }) => section === name).map(({ row }) => row)
      return sentences.filter((one) => !quoted.some((row) => one.includes(row) || row.includes(one)))
    })
    const exceptions = Object.keys(SENTENCE_EXCEPTIONS)
    expect(without.filter((one) => !exceptions.some((words) => one.includes(words)))).toEqual([])
    expect(exceptions.filter((words) => !without.some((one) => one.includes(words)))).toEqual([])
  })
})
