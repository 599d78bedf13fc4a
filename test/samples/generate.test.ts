import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACME_COLUMNS } from '../../samples/acme-columns.ts'
import { ACME_FAULTS, type Fault, NORTHLAB_FAULTS } from '../../samples/dirt.ts'
import { generateSamples, SAMPLE_FILES, type SampleCounts } from '../../samples/generate.ts'

const SAMPLES = join(import.meta.dirname, '../../samples')
const inbox = (name: string): Promise<Buffer> => readFile(join(SAMPLES, 'inbox', name))

let out: string
let counts: SampleCounts

beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'waybill-samples-'))
  counts = await generateSamples({ out: join(out, 'default') })
})
afterAll(() => rm(out, { recursive: true }))

describe('samples', () => {
  it.each(Object.values(SAMPLE_FILES))('%s is what the generator makes, byte for byte', async (name) => {
    const made = await readFile(join(out, 'default', name))
    expect(made.equals(await inbox(name))).toBe(true)
    expect(made.length).toBeLessThan(1_600_000)
  })

  it('are others with another seed, and the same with the same', async () => {
    const make = async (seed: number, folder: string): Promise<Buffer[]> => {
      await generateSamples({ participants: 300, messages: 40, seed, out: join(out, folder) })
      return Promise.all(Object.values(SAMPLE_FILES).map((name) => readFile(join(out, folder, name))))
    }
    const [first, again, other] = [await make(7, 'a'), await make(7, 'b'), await make(8, 'c')]
    expect(again).toEqual(first)
    expect(other[0]).not.toEqual(first[0])
    expect(other[1]).not.toEqual(first[1])
  })

  it('begin with the same people, however many there are', async () => {
    await generateSamples({ participants: 200, messages: 0, out: join(out, 'few'), clean: true })
    await generateSamples({ participants: 400, messages: 0, out: join(out, 'more'), clean: true })
    const few = await readFile(join(out, 'few', SAMPLE_FILES.acme), 'utf8')
    const more = await readFile(join(out, 'more', SAMPLE_FILES.acme), 'utf8')
    expect(more.startsWith(few)).toBe(true)
  })

  it('refuse options that make no sense', async () => {
    await expect(generateSamples({ participants: 0, out })).rejects.toThrow(/participants/)
  })
})

describe('faults', () => {
  const timesOf = (fault: Fault, ordinals: number): number =>
    ordinals < fault.at ? 0 : Math.floor((ordinals - fault.at) / fault.every) + 1

  it.each(Object.entries(ACME_FAULTS))('of Acme: %s as often as its place tells', (name, fault) => {
    expect(counts.acme.faults).toHaveProperty([name], timesOf(fault, 5000))
  })

  it.each(Object.entries(NORTHLAB_FAULTS))('of Northlab: %s as often as its place tells', (name, fault) => {
    expect(counts.northlab?.faults).toHaveProperty([name], timesOf(fault, 500))
  })

  it.each([
    ['Acme', ACME_FAULTS],
    ['Northlab', NORTHLAB_FAULTS],
  ])('of %s never fall together', (_, faults) => {
    for (let ordinal = 1; ordinal <= 1000; ordinal++) {
      const hits = Object.values<Fault>(faults).filter((fault) => ordinal % fault.every === fault.at)
      expect(hits.length).toBeLessThanOrEqual(1)
    }
  })

  it('stand in the file as often as counted', async () => {
    const text = (await inbox(SAMPLE_FILES.acme)).toString()
    const times = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
    const { faults } = counts.acme
    expect(times(/,1200,/g)).toBe(faults['systolic-implausible'])
    expect(times(/,<5,/g)).toBe(faults['hdl-with-comparator'])
    expect(times(/,see note,/g)).toBe(faults['text-for-number'])
    expect(times(/^,/gm)).toBe(faults['participant-missing'])
    expect(times(/13\/45\/2026/g)).toBe(faults['date-impossible'])
    expect(times(/"felt dizzy after the draw\nrested, then left"/g)).toBe(faults['newline-in-notes'])
    const lines = text.split('\n').slice(1, -1)
    // Header apart, each row is one line, but for those with a line break in a cell.
    expect(lines.length).toBe(counts.acme.rows + faults['newline-in-notes'])
    const ids = lines.map((line) => line.slice(0, 9)).filter((id) => /^AC\d{7}$/.test(id))
    expect(ids.length - new Set(ids).size).toBe(faults['row-repeated'] + faults['row-corrected'])
  })

  it('break the JSON of as many lines as counted', async () => {
    const lines = (await inbox(SAMPLE_FILES.northlab)).toString().split('\n').slice(0, -1)
    const broken = lines.filter((line) => !isJson(line))
    expect(lines.length).toBe(500)
    expect(broken.length).toBe(counts.northlab?.faults['json-broken'])
  })

  it('are left out of clean samples', async () => {
    const clean = await generateSamples({
      participants: 1000,
      messages: 250,
      out: join(out, 'clean'),
      clean: true,
    })
    const all = [...Object.values(clean.acme.faults), ...Object.values(clean.northlab?.faults ?? {})]
    expect(all.every((count) => count === 0)).toBe(true)
    expect(clean.acme.rows).toBe(1000)
    const text = await readFile(clean.acme.path, 'utf8')
    expect(text.split('\n')[0]).toBe(ACME_COLUMNS.join(','))
    expect(text.trimEnd().split('\n').length).toBe(1001)
  })
})

describe('samples/README.md', () => {
  it('tells every fault with its place and count', async () => {
    const readme = await readFile(join(SAMPLES, 'README.md'), 'utf8')
    const table = [
      ...Object.entries<Fault>(ACME_FAULTS).map((entry) => line(entry, counts.acme.faults)),
      ...Object.entries<Fault>(NORTHLAB_FAULTS).map((entry) => line(entry, counts.northlab?.faults ?? {})),
    ]
    const told = readme.split('\n').map((text) => text.replaceAll(/ +/g, ' '))
    expect(told.filter((text) => /^\| [a-z0-9-]+ \| \d+ \|/.test(text))).toEqual(table)
  })

  it('tells the other counts', async () => {
    const readme = (await readFile(join(SAMPLES, 'README.md'), 'utf8')).replaceAll(/\s+/g, ' ')
    const { acme, northlab } = counts
    for (const said of [
      `${acme.noShows} no-shows`,
      `${acme.oddities['second-date-form']} dates in a second form`,
      `${acme.oddities.empty} empty measurements, and ${acme.oddities['not-done']} with`,
      `${acme.rows.toLocaleString('en-US')} data rows`,
      `${northlab?.oddities['single-result']} messages with a lone OBX`,
      `${northlab?.oddities['not-final']} results that are not final`,
      `${northlab?.oddities['unit-in-lower-case']} with \`mg/dl\``,
      `${northlab?.oddities['number-as-text']} numbers as text`,
      `${northlab?.newPeople} of the people are not in the screening file`,
    ]) {
      expect(readme).toContain(said)
    }
  })
})

function line([name, fault]: [string, Fault], counted: Record<string, number>): string {
  return `| ${name} | ${fault.every} | ${fault.at} | ${counted[name]} | ${fault.cost} | ${fault.what} |`
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
