/** Options of the command line that read a text: what each takes and refuses, at its edges. No command is started. */
import type { Command, Option } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'

const program = createProgram('1.2.3', async () => {})

const commandsBelow = (command: Command, words: readonly string[] = []): [string, Command][] =>
  command.commands.flatMap((one): [string, Command][] => {
    const name = [...words, one.name()]
    return one.commands.length > 0 ? commandsBelow(one, name) : [[name.join(' '), one]]
  })
const ALL = commandsBelow(program)
const OPTIONS = ALL.flatMap(([name, { options }]) =>
  options.map((option) => [`${name} ${option.long}`, option] as const),
)

const NOW = Date.UTC(2026, 2, 2, 12)
const DAY_MS = 86_400_000

/** What is read of good texts; texts that are refused. */
interface Reads {
  readonly good: Readonly<Record<string, unknown>>
  readonly bad: readonly string[]
}
const WHOLE: Reads = {
  good: { '0': 0, '7': 7, '999999999': 999_999_999 },
  bad: ['-1', '1.5', '1e3', '1000000000', 'x', ''],
}
const FROM_ONE: Reads = {
  good: { '1': 1, '999999999': 999_999_999 },
  bad: ['0', '01', '1000000000', '-1', '1.5', ''],
}
const SINCE: Reads = {
  good: { '2026-03-01': NOW - 1.5 * DAY_MS, '7d': NOW - 7 * DAY_MS, '12h': NOW - DAY_MS / 2 },
  bad: ['2026-3-1', '2026-02-30', '2026-02-29', '2026-02-28x', '2026-13-01', '7', 'yesterday', ''],
}
const PLACE: Reads = {
  good: { '0': { host: '127.0.0.1', port: 0 }, '0.0.0.0:65535': { host: '0.0.0.0', port: 65_535 } },
  bad: ['65536', 'localhost', ':1', ''],
}
const BY_OPTION: Readonly<Record<string, Reads>> = {
  'run --limit': WHOLE,
  'worker --concurrency': WHOLE,
  'mapping show --sample': WHOLE,
  'backfill --rate': {
    good: { '5': 5, '0.5': 0.5, '0.001': 0.001, '999999.999': 999_999.999 },
    bad: ['0', '0.0', '-1', '0.0001', '1000000', '5/s', ''],
  },
  'schedule --metrics': PLACE,
  'console --listen': {
    good: { ...PLACE.good, 'unix:/run/w.sock': { socket: '/run/w.sock' } },
    bad: [...PLACE.bad, 'unix:'],
  },
  'runs --limit': FROM_ONE,
  'runs --page': FROM_ONE,
  'runs --since': SINCE,
  'audit --since': SINCE,
  'rerun --since': SINCE,
  'acknowledge --since': SINCE,
  'reconcile --since': SINCE,
  'reconcile --sample': {
    good: {
      '20': { kind: 'people', people: 20 },
      '1': { kind: 'people', people: 1 },
      '5%': { kind: 'share', share: 0.05 },
      '100%': { kind: 'share', share: 1 },
      '0.1%': { kind: 'share', share: 0.001 },
    },
    bad: ['0', '1.5', '0%', '101%', '-1', '%', ''],
  },
  'mapping check --rows': WHOLE,
  'mapping diff --examples': WHOLE,
  'mapping preview --row': WHOLE,
  'mapping preview --limit': WHOLE,
  'mapping edit --port': WHOLE,
  'mapping edit --limit': WHOLE,
  'prune --older-than': { good: { '180d': 180 * DAY_MS, '1.5h': 5_400_000 }, bad: ['180', '180days', ''] },
  'gateway --port': WHOLE,
  'gateway --bind': {
    good: {
      't=p': { t: { reference: 'p', type: 'partnerAccountId' } },
      't==accountId:4711': { 't=': { reference: '4711', type: 'accountId' } },
      't=a=b': { t: { reference: 'a=b', type: 'partnerAccountId' } },
    },
    bad: ['t', 't=', '=p', 't=accountId:', 'a b=p', ''],
  },
  'trace --row': {
    good: {
      'a.csv:17': { name: 'a.csv', row: 17 },
      'a:b.xlsx:Sheet 1!2': { name: 'a:b.xlsx', row: 2, sheet: 'Sheet 1' },
    },
    bad: ['a.csv', 'a.csv:0', ':1', 'a.csv:x', ''],
  },
}

const readOf = (option: Option, text: string): unknown => {
  const value: unknown = option.parseArg?.(text, undefined)
  return typeof value === 'function' ? value(NOW) : value
}

it.each(OPTIONS.filter(([name]) => name in BY_OPTION))('%s', (name, option) => {
  const { good, bad } = BY_OPTION[name] ?? expect.fail()
  for (const [text, value] of Object.entries(good)) expect(readOf(option, text), text).toEqual(value)
  for (const text of bad) expect(() => readOf(option, text), text).toThrow(/^It must be /)
})

it('each option that reads its text is tried here, or beside its command', () => {
  const reading = OPTIONS.filter(
    ([, option]) => option.parseArg !== undefined && option.argChoices === undefined,
  )
  expect(reading.map(([name]) => name).filter((name) => !(name in BY_OPTION))).toEqual([])
  expect(Object.keys(BY_OPTION)).toHaveLength(reading.length)
})

it('a token is bound to each of several users', () => {
  const [, bind] = OPTIONS.find(([name]) => name === 'gateway --bind') ?? expect.fail()
  const one = bind.parseArg?.('a=p', undefined)
  expect(bind.parseArg?.('b=q', one as never)).toEqual({
    a: { reference: 'p', type: 'partnerAccountId' },
    b: { reference: 'q', type: 'partnerAccountId' },
  })
})

it.each([
  ['run --new-ledger', ['lookFirst', 'newKey']],
  ['console --read-only', ['healthData']],
  ['acknowledge --undo', ['since', 'export', 'dryRun']],
  ['gateway --seed', ['attached']],
  ['gateway --known-account', ['account']],
  [
    'gateway --check',
    [
      ...[
        'port',
        'data',
        'apiKey',
        'token',
        'bind',
        'assessment',
        'faults',
        'uploadLifetime',
        'open',
        'seed',
      ],
      'attached',
    ],
  ],
])('%s does not go with %j', async (name, others) => {
  const [, command] = ALL.find(([words]) => name.startsWith(`${words} -`)) ?? expect.fail()
  const options = others.map(
    (other) => command.options.find((one) => one.attributeName() === other) ?? expect.fail(other),
  )
  for (const { long, flags } of options) {
    const words = [...name.split(' '), ...(/check|seed/.test(name) ? ['x'] : []), long ?? '']
    const value = flags.includes('<')
      ? [flags.includes('port') ? '1' : flags.includes('since') ? '7d' : 'a=b']
      : []
    const typed = createProgram('1', async () => {}, { writeErr: () => {}, writeOut: () => {} })
    const job = name.startsWith('run') ? ['j'] : []
    await expect(
      typed.parseAsync([...words, ...value, ...job], { from: 'user' }),
      long,
    ).rejects.toMatchObject({
      code: 'commander.conflictingOption',
    })
  }
})

it.each([
  ['backfill j', '--from 2026-01-01 --to 2026-01-02'],
  ['accounts export j', '--out f'],
  ['accounts confirm', '--file f'],
  ['accounts forget', '--file f'],
  ['accounts erase', '--file f'],
  ['prune', '--older-than 1d'],
])('%s needs each of %s', async (command, options) => {
  const run = (words: string): Promise<unknown> =>
    createProgram('1', async () => {}, { writeErr: () => {}, writeOut: () => {} }).parseAsync(
      words.split(' '),
      {
        from: 'user',
      },
    )
  await run(`${command} ${options}`)
  for (const one of options.match(/--\S+ \S+/g) ?? [])
    await expect(
      run(`${command} ${options.replace(one, '').trim()}`.trim().replaceAll('  ', ' ')),
    ).rejects.toMatchObject({
      code: 'commander.missingMandatoryOptionValue',
    })
})

it('has defaults', () => {
  const defaults = OPTIONS.flatMap(([name, { defaultValue }]) =>
    defaultValue === undefined ? [] : [[name, defaultValue]],
  )
  expect(Object.fromEntries(defaults)).toEqual({
    ...{
      'worker --concurrency': 1,
      'runs --limit': 20,
      'runs --page': 1,
      'mapping check --rows': 10_000,
      'mapping diff --examples': 10,
    },
    ...{ 'mapping preview --limit': 3, 'mapping edit --port': 0, 'mapping edit --limit': 50 },
    ...{ 'gateway --port': 8790, 'gateway --upload-lifetime': '30m' },
  })
})
