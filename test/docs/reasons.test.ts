import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type AnswerClass,
  classifyStatus,
  classifyTransportFailure,
} from '../../src/gateway/gateway-error.ts'
import { ERROR_CODES } from '../../src/model/errors.ts'
import { Checks } from '../../src/transform/checks.ts'
import { FIT_FINDINGS } from '../../src/transform/mapping-definition.ts'
import { PROJECT, page, sections, tableRows } from './pages.ts'

/** Where rows and records are rejected. */
const sources = globSync(['src/{extract,transform,load,collect}/**/*.ts', 'src/model/cell-fault.ts'], {
  cwd: PROJECT,
}).map((file) => readFileSync(join(PROJECT, file), 'utf8').replaceAll(/^(import|export) .* from .*$/gm, ''))
const literals = new Set(
  sources.flatMap((text) => [...text.matchAll(/'([a-z]+(?:-[a-z]+)*)'/g)].map(([, word = '']) => word)),
)
/** Rows with several codes of one meaning, too. */
const documented = [...page('docs/reasons.md').matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \|/gm)].flatMap(
  ([, cell = '']) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code),
)

/** Words of another meaning: stages, answer classes, decisions, what a rule or parser says to itself. */
const NOT_REASONS = new Set<string>([
  ...Object.keys(Checks.shape),
  ...FIT_FINDINGS,
  ...['read-back', 'primary-care'],
  ...['accepted-in-part', 'not-sent', 'not-taken', 'stale-token', 'not-allowed'],
  ...['renew-token', 'give-back', 'give-up', 'follow-up'],
  ...['to-set', 'to-unset'],
  ...['other-id', 'no-account', 'not-found'],
  ...['left-out', 'nothing-kept', 'row-key', 'care-team', 'feet-and-inches'],
  ...['value-or-end', 'key-or-end'],
])

describe('docs/reasons.md', () => {
  it('has no code twice', () => {
    expect(documented).toEqual([...new Set(documented)])
  })

  it('has only codes that the sources can give', () => {
    // Faults of a field get this prefix where the field is one of the registration.
    const plain = documented.map((code) => (literals.has(code) ? code : code.replace(/^registration-/, '')))
    expect(plain.filter((code) => !literals.has(code))).toEqual([])
  })

  it('has every code that the sources can give', () => {
    const known = new Set<string>([...documented, ...NOT_REASONS, ...Object.keys(ERROR_CODES)])
    const missing = [...literals].filter((word) => word.includes('-') && !known.has(word))
    expect(missing).toEqual([])
  })
})

describe('docs/delivery.md', () => {
  const rows = tableRows(sections(page('docs/delivery.md'), 2).get('Classes of answers') ?? '')
  const classOf = (part: string): string | undefined =>
    rows.find(([what = '']) => what.includes(part))?.[1]?.replaceAll('`', '')

  it('has every class of answers, and no other', () => {
    const classes: Record<AnswerClass, true> = {
      accepted: true,
      'accepted-in-part': true,
      ambiguous: true,
      'not-sent': true,
      'not-taken': true,
      refused: true,
      'too-large': true,
      'stale-token': true,
      'not-allowed': true,
    }
    const told = new Set(rows.map(([, name = '']) => name.replaceAll('`', '')))
    expect([...told].sort()).toEqual(Object.keys(classes).sort())
  })

  it('puts statuses into the classes that the client puts them in', () => {
    for (const status of [401, 403, 408, 413, 429])
      expect(classOf(String(status)), `${status}`).toBe(classifyStatus(status, false))
    expect(classOf('503 with Retry-After')).toBe(classifyStatus(503, true))
    expect(classOf('503 without Retry-After')).toBe(classifyStatus(503, false))
    expect(classOf('3xx')).toBe(classifyStatus(302, false))
    expect(classOf('other 4xx')).toBe(classifyStatus(404, false))
    expect(classOf('other 5xx')).toBe(classifyStatus(500, false))
    expect(classOf('no connection')).toBe(classifyTransportFailure({ connected: false }))
    expect(classOf('connection lost')).toBe(classifyTransportFailure({ connected: true }))
  })
})
