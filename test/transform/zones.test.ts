/** Which names of time zones are taken, wherever one is said: cell, mapping, condition, schedule and expectation of a job. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import { isZone, zoneFault } from '../../src/transform/zones.ts'
import { csvRules, faults, findings, HEAD, mapped, ROOT } from './mapping-under-test.ts'

/** Names of the tz database, and of links to them. */
const TAKEN = [
  ...[
    'UTC',
    'GMT',
    'America/New_York',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'US/Eastern',
    'Europe/Kyiv',
    'Europe/Kiev',
  ],
  ...['America/Argentina/Buenos_Aires', 'America/Buenos_Aires', 'Pacific/Apia', 'Etc/UTC', 'Etc/GMT+5'],
]
/** Short names that Intl takes for some place or other, offsets, other spellings, and names of nothing. */
const REFUSED = [
  ...[
    'EST',
    'EDT',
    'AST',
    'BST',
    'IST',
    'CST',
    'MST',
    'HST',
    'PST',
    'CET',
    'EET',
    'MET',
    'WET',
    'JST',
    'ACT',
    'AET',
  ],
  ...[
    'EST5EDT',
    'CST6CDT',
    'PST8PDT',
    'EST5EDT4',
    'GMT0',
    'GMT+0',
    'GMT-5',
    'UTC+1',
    'UCT',
    'Z',
    'Zulu',
    'Cuba',
    'Japan',
  ],
  ...[
    '-05:00',
    '+0530',
    '+05',
    'utc',
    'america/new_york',
    'America/New York',
    'America/Newyork',
    'Mars/Olympus',
  ],
  ...['SystemV/EST5', 'US/Pacific-New', '/', 'America/', 'constructor', 'Factory', 'posix/UTC', '#', ''],
]

const RULE = 'biometrics: { heart-rate: hr }'
const inCells = csvRules(
  ['id', 'when', 'z', 'hr'],
  RULE,
  '',
  '{ from: when, format: "yyyy-MM-dd HH:mm", zone: { from: z } }',
)
const row = (z: string, when = '2026-02-04 09:10') => inCells({ id: 'P-1', when, z, hr: '61' })

describe('a zone in a cell', () => {
  it.each(TAKEN)('%s is taken', (zone) => {
    expect(faults(row(zone))).toEqual([])
  })

  it.each(REFUSED)('%s is refused', (zone) => {
    expect(faults(row(zone))).toEqual(['row: zone-unknown z'])
  })

  it('means the clock of its place', () => {
    const at = (zone: string, when?: string): string | undefined => {
      const observedAt = mapped(row(zone, when)).records[0]?.observedAt
      return observedAt === undefined ? undefined : new Date(observedAt).toISOString()
    }
    expect(at('GMT')).toBe('2026-02-04T09:10:00.000Z')
    expect(at('US/Eastern', '2026-07-04 09:10')).toBe('2026-07-04T13:10:00.000Z')
    expect(at('Asia/Kolkata')).toBe('2026-02-04T03:40:00.000Z')
    expect(at('America/Halifax', '2026-07-04 09:10')).toBe('2026-07-04T12:10:00.000Z')
  })
})

const quoted = (zone: string): string => JSON.stringify(zone)

describe('a zone in a mapping', () => {
  const ofRow = (zone: string): string => HEAD.replace('zone: UTC', `zone: ${quoted(zone)}`) + RULE
  const ofTest = (zone: string): string =>
    `${HEAD}biometrics: { heart-rate: { from: hr, when: { a: { ">": 2026-01-01, format: ISO, zone: ${quoted(zone)} } } } }`

  it.each(REFUSED)('%s is refused, of the date and of a condition', (zone) => {
    expect(findings(ofRow(zone))).toEqual([
      expect.stringMatching(
        /^3 row\.observedAt\.zone: is no IANA time zone; write it like America\/New_York/,
      ),
    ])
    expect(findings(ofTest(zone))).toEqual([
      expect.stringMatching(/^\d+ biometrics\.heart-rate\.when\.a\.zone: is no IANA time zone/),
    ])
  })

  it('is refused where the mapping gives it to a field: in a table, as the rest, as a constant', () => {
    const ofField = (zone: string): string[] => findings(HEAD.replace('zone: UTC', `zone: ${zone}`) + RULE)
    const key = '3 row.observedAt.zone'
    expect(ofField('{ from: site, table: { B: America/New_York, D: MST }, otherwise: CST }')).toEqual([
      expect.stringContaining(`${key}.otherwise: "CST" is no IANA time zone`),
      expect.stringContaining(`${key}.table: "MST" is no IANA time zone`),
    ])
    expect(ofField('{ constant: IST }')).toEqual([expect.stringContaining(`${key}.constant: "IST" is no`)])
    expect(ofField('{ from: site, table: lab-codes }')).toContainEqual(
      expect.stringContaining(`${key}.table: "`),
    )
  })

  it('that is listed and has no rules in this Node.js is refused as that', () => {
    expect(zoneFault('America/Coyhaique', '', () => false)).toContain('unknown to this Node.js')
    for (const short of ['EST', 'AST', 'BST', 'IST', 'CST', 'CET', 'CEST', 'est'])
      expect(zoneFault(short, '', () => true)).toBe('is no IANA time zone; write it like America/New_York')
    expect(zoneFault('America/New York')).toContain('did you mean "America/New_York"')
  })

  it('that is an offset, or a short name, leads to no other zone', () => {
    expect(findings(ofRow('-05:00'))[0]).toContain('by ZZ in the form')
    expect(findings(ofRow('CET'))[0]).not.toContain('did you mean')
  })
})

describe('a zone in a job', () => {
  const JOB = { job: 'nightly', exports: [{ from: 'in', match: '*.csv' }], mapping: 'm' }
  const scheduled = (zone: string) => ({ ...JOB, schedule: { cron: '30 1 * * *', zone } })
  const expecting = (zone: string) => ({
    ...JOB,
    exports: [{ from: 'in', match: '*.csv', expect: { by: '30 1 * * *', zone } }],
  })

  it.each(TAKEN)('%s is taken', (zone) => {
    expect(JobDefinition.safeParse(scheduled(zone)).success).toBe(true)
    expect(JobDefinition.safeParse(expecting(zone)).success).toBe(true)
  })

  it.each(REFUSED)('%s is refused, of the schedule and of what is expected', (zone) => {
    for (const job of [scheduled(zone), expecting(zone)])
      expect(JobDefinition.safeParse(job).error?.issues).toMatchObject([
        { path: expect.arrayContaining(['zone']), message: expect.stringContaining('is no IANA time zone') },
      ])
  })
})

describe('the list', () => {
  const text = readFileSync(join(ROOT, 'mappings/catalog/zones.txt'), 'utf8')
  const names = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

  it('has its version and source, and each name once, in order', () => {
    expect(text).toMatch(/^# version \d{4}[a-z]$/m)
    expect(text).toMatch(/^# source /m)
    expect([...new Set(names)].sort()).toEqual(names)
    expect(names.filter((name) => !/^[A-Z][\w+-]+(?:\/[\w+-]+)+$/.test(name))).toEqual([])
  })

  it('has all zones of which this Node.js has rules, which has those of all of it', () => {
    const known = Intl.supportedValuesOf('timeZone').filter((name) => name.includes('/'))
    expect(known.filter((name) => !names.includes(name))).toEqual([])
    expect(names.filter((name) => !isZone(name))).toEqual([])
  })
})
