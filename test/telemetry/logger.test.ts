import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLogger, LOG_FIELDS, type LogFields } from '../../src/telemetry/logger.ts'

const now = (): number => Date.UTC(2026, 2, 2, 7, 15)

type Level = (typeof LEVELS)[number]

function open(level: Level, form: 'text' | 'json', file?: Level) {
  const [lines, filed]: [string[], string[]] = [[], []]
  const sink = { level, form, print: (line: string) => lines.push(line) }
  const into = file && { level: file, form: 'json' as const, print: (line: string) => filed.push(line) }
  return { logger: createLogger(sink, into, now), lines, filed }
}

/** What a caller may hand over that its type does not allow. */
const anything = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom(...LOG_FIELDS, '__proto__', 'firstName', 'message', 'level')),
  fc.oneof(
    fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, maxDepth: 3 }),
    fc.constant({ firstName: 'Quixotine' }),
  ),
)

describe('only fields on the list are ever written', () => {
  test('as JSON: whatever is logged', () => {
    const { logger, lines } = open('debug', 'json')
    const known = new Set<string>([...LOG_FIELDS, 'timestamp', 'level', 'message'])
    fc.assert(
      fc.property(anything, (fields) => {
        lines.length = 0
        logger.info('said', fields as LogFields)
        expect(lines).toHaveLength(1)
        const written = Object.entries(JSON.parse(lines[0] ?? '') as Record<string, unknown>)
        for (const [name, value] of written) {
          expect(known).toContain(name)
          // An object could hold anything. A number that JSON does not know is written as null.
          if (value !== null) expect(['string', 'number', 'boolean']).toContain(typeof value)
        }
        expect(written).toEqual(
          expect.arrayContaining([
            ['message', 'said'],
            ['level', 'info'],
          ]),
        )
      }),
    )
  })

  test('as text: one line, and nothing that moves the cursor', () => {
    const { logger, lines } = open('debug', 'text')
    fc.assert(
      fc.property(anything, fc.string({ unit: 'binary' }), (fields, message) => {
        lines.length = 0
        logger.warn(message, fields as LogFields)
        const [text = ''] = lines
        expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      }),
    )
  })
})

test.each(['\u007f', '\u0085', '\u009b31m', '\u202e', '\u200b', '\u2028'])(
  '%j, which JSON leaves as it is, is escaped',
  (control) => {
    const { logger, lines } = open('info', 'text')
    logger.warn(`before ${control}`, { export: `a ${control}.csv` })
    const escaped = `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}${control.slice(1)}`
    expect(lines).toEqual([`2026-03-02T07:15:00.000Z warn  before ${escaped} export="a ${escaped}.csv"\n`])
    const json = open('info', 'json')
    json.logger.warn(`before ${control}`)
    expect(json.lines.join()).not.toContain(control)
    expect(JSON.parse(json.lines.join())).toMatchObject({ message: `before ${control}` })
  },
)

test('text and JSON', () => {
  const text = open('info', 'text')
  text.logger.info('export ended', { export: 'a b.csv', rows: 5, resumed: false, job: 'nightly' })
  expect(text.lines).toEqual([
    '2026-03-02T07:15:00.000Z info  export ended job=nightly export="a b.csv" rows=5 resumed=false\n',
  ])
  const json = open('info', 'json')
  json.logger.info('export ended', { export: 'a b.csv', rows: 5 })
  expect(json.lines).toEqual([
    '{"timestamp":"2026-03-02T07:15:00.000Z","level":"info","message":"export ended","export":"a b.csv","rows":5}\n',
  ])
})

const LEVELS = ['error', 'warn', 'info', 'debug'] as const
const sayAll = (logger: ReturnType<typeof open>['logger']): void => {
  for (const level of LEVELS) logger[level](level)
}
const levelsOf = (lines: readonly string[]): (string | undefined)[] =>
  lines.map((line) => LEVELS.find((level) => line.includes(level)))

test.each(LEVELS)('at level %s: it and what is worse, at once', (level) => {
  const { logger, lines, filed } = open(level, 'text', 'info')
  sayAll(logger)
  expect(levelsOf(lines)).toEqual(LEVELS.slice(0, LEVELS.indexOf(level) + 1))
  expect(levelsOf(filed)).toEqual(['error', 'warn', 'info'])
})

test.each(LEVELS)(
  'beside a display, at level %s: warnings and errors through it, all into the file',
  (level) => {
    const { logger, lines, filed } = open(level, 'text', level)
    const shown: string[] = []
    sayAll(logger.beside((line) => shown.push(line)))
    expect(lines).toEqual([])
    expect(levelsOf(shown)).toEqual(level === 'error' ? ['error'] : ['error', 'warn'])
    expect(levelsOf(filed)).toEqual(LEVELS.slice(0, LEVELS.indexOf(level) + 1))
  },
)

test('what nobody reads need not be put together', () => {
  expect(open('info', 'text').logger.writes('debug')).toBe(false)
  expect(open('info', 'text', 'debug').logger.writes('debug')).toBe(true)
})
