import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allRecords, byKind } from '../../../src/model/balance.ts'
import {
  balanceFlow,
  balancePicture,
  recordFlow,
  rowFlow,
} from '../../../src/story/report/balance-section.ts'
import { kinds, made, rows } from './sample-facts.ts'

/** Pixels of the thinnest band. */
const THINNEST = 3

type Flow = Parameters<typeof balancePicture>[0]

const NIGHT = {
  rows: rows(5373, 115, 22),
  records: kinds({
    biometric: made({ accepted: 65_842, rejected: 104, unchanged: 125 }),
    condition: made({ accepted: 2740, rejected: 1, unchanged: 5 }),
    careTeam: made({ accepted: 3402, rejected: 10, unchanged: 10 }),
  }),
}
const WIDE = { columnWidth: 245, textWidth: 205, heads: ['a', 'b', 'c', 'd'] }
const NARROW = { columnWidth: 172, textWidth: 172, heads: [] }

/** `name count` of each node. */
const told = ({ nodes }: Flow): string[] => nodes.map(({ name, count }) => `${name} ${count}`)

/** Texts of a picture, as they are read. */
const texts = (svg: string): string[] =>
  [...svg.matchAll(/<text (?!class)[^>]*>(.*?)<\/text>/g)].map(([, text = '']) =>
    text.replaceAll(/<[^>]*>/g, ''),
  )

describe('the balance as a flow', () => {
  test('leads from rows to what became of them, to records, to what became of those', () => {
    expect(told(balanceFlow(NIGHT))).toEqual([
      'rows read 5510',
      'biometrics 66071',
      'conditions 2746',
      'care teams 3422',
      'mapped 5373',
      'skipped 115',
      'accepted 71984',
      'unchanged 140',
      'rejected 115',
      'rejected 22',
    ])
  })

  test('what is not there is not drawn', () => {
    const flow = balanceFlow({ rows: rows(1, 0, 0), records: kinds({ condition: made({ accepted: 1 }) }) })
    expect(told(flow)).toEqual(['rows read 1', 'conditions 1', 'mapped 1', 'accepted 1'])
    expect(flow.links.map(({ source, target }) => `${source} ${target}`)).toEqual([
      'read row-mapped',
      'row-mapped condition',
      'condition record-accepted',
    ])
  })

  test('rows that make no records end where they were mapped', () => {
    expect(told(balanceFlow({ rows: rows(3, 0, 0), records: kinds() }))).toEqual(['rows read 3', 'mapped 3'])
  })

  test('what does not balance has an end of its own', () => {
    const flow = balanceFlow({
      rows: { ...rows(80, 5, 5), read: 100 },
      records: kinds({ biometric: { ...made({ accepted: 60 }), made: 70 } }),
    })
    expect(told(flow).filter((one) => one.startsWith('unaccounted'))).toEqual([
      'unaccounted for 10',
      'unaccounted for 10',
    ])
  })

  test('what is twice as many is twice as thick, in rows and in records', () => {
    const { links } = balanceFlow({
      rows: rows(600, 200, 100),
      records: kinds({ biometric: made({ accepted: 4000, rejected: 2000 }) }),
    })
    const value = (target: string): number => links.find((link) => link.target === target)?.value ?? 0
    expect(value('row-skipped')).toBeCloseTo(2 * value('row-rejected'))
    expect(value('row-mapped')).toBeCloseTo(3 * value('row-skipped'))
    expect(value('record-accepted')).toBeCloseTo(2 * value('record-rejected'))
    expect(value('biometric')).toBeCloseTo(value('row-mapped'))
  })
})

describe('the picture', () => {
  test('nothing that flows: no picture', () => {
    expect(balancePicture(balanceFlow({ rows: rows(0, 0, 0), records: kinds() }), WIDE)).toBe('')
  })

  test('tells each count exactly, with the mark of its outcome', () => {
    expect(texts(balancePicture(balanceFlow(NIGHT), WIDE))).toEqual([
      'rows read 5,510',
      'biometrics 66,071',
      'conditions 2,746',
      'care teams 3,422',
      '→ mapped 5,373',
      '– skipped 115',
      '✓ accepted 71,984',
      '= unchanged 140',
      '× rejected 115',
      '× rejected 22',
    ])
  })

  test('names what its columns are', () => {
    const svg = balancePicture(balanceFlow(NIGHT), WIDE)
    expect([...svg.matchAll(/class="head"[^>]*>(.*?)</g)].map(([, head]) => head)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ])
  })
})

const count = fc.oneof(fc.constant(0), fc.constant(1), fc.nat(1000), fc.nat(2_000_000_000))
const outcomes = fc
  .record({ accepted: count, rejected: count, unchanged: count, inDoubt: count, pending: count })
  .map(made)
const counts = fc.record({
  rows: fc.tuple(count, count, count).map(([mapped, skipped, rejected]) => rows(mapped, skipped, rejected)),
  records: fc.record(byKind(() => outcomes)),
})

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const numbersIn = (text: string): number[] => [...text.matchAll(/-?\d+(?:\.\d+)?/g)].map(Number)

/** Boxes of nodes, and links with both their ends and their thickness. */
function read(svg: string): { frame: Box; boxes: Box[]; links: { ends: number[]; width: number }[] } {
  const [, frame = ''] = /viewBox="([^"]*)"/.exec(svg) ?? []
  const [x = 0, y = 0, width = 0, height = 0] = numbersIn(frame)
  const boxes = [...svg.matchAll(/<rect class="node [^>]*>/g)].map(([rect]) => {
    const value = (name: string): number => Number(new RegExp(` ${name}="([^"]*)"`).exec(rect)?.[1])
    return { x: value('x'), y: value('y'), width: value('width'), height: value('height') }
  })
  const links = [...svg.matchAll(/<path class="link [^"]*" d="([^"]*)" stroke-width="([^"]*)"/g)].map(
    ([, d = '', thickness]) => {
      const [x0 = Number.NaN, y0 = Number.NaN, ...rest] = numbersIn(d)
      return { ends: [x0, y0, ...rest.slice(-2)], width: Number(thickness) }
    },
  )
  return { frame: { x, y, width, height }, boxes, links }
}

describe('of any counts that balance', () => {
  const forms = [
    ['whole', balanceFlow, WIDE],
    ['rows', rowFlow, NARROW],
    ['records', recordFlow, NARROW],
  ] as const
  test.each(forms)('the picture lies within its frame, and nothing is too thin: %s', (_, flowOf, form) => {
    fc.assert(
      fc.property(counts, (any) => {
        const svg = balancePicture(flowOf(any), form)
        if (svg === '') return
        expect(svg).not.toMatch(/NaN|undefined|Infinity|="-/)
        const { frame, boxes, links } = read(svg)
        for (const { x, y, width, height } of boxes) {
          expect(height).toBeGreaterThanOrEqual(THINNEST - 0.1)
          expect(x).toBeGreaterThanOrEqual(0)
          expect(y).toBeGreaterThanOrEqual(0)
          expect(x + width).toBeLessThanOrEqual(frame.width)
          expect(y + height).toBeLessThanOrEqual(frame.height)
        }
        for (const { ends, width } of links) {
          expect(width).toBeGreaterThanOrEqual(THINNEST - 0.1)
          for (const end of ends) expect(Number.isFinite(end)).toBe(true)
        }
      }),
    )
  })

  test('what leaves a node is as thick as the node, and so is what leads to it', () => {
    fc.assert(
      fc.property(counts, (any) => {
        const { boxes, links } = read(balancePicture(balanceFlow(any), WIDE))
        for (const box of boxes) {
          const along = (x: number, y: number): boolean =>
            Math.abs(x) < 0.2 && y > box.y - 0.2 && y < box.y + box.height + 0.2
          const sum = (at: 0 | 2, x: number): number =>
            links
              .filter(({ ends }) => along((ends[at] ?? 0) - x, ends[at + 1] ?? 0))
              .reduce((total, { width }) => total + width, 0)
          const into = sum(2, box.x)
          const out = sum(0, box.x + box.width)
          // Places and widths are told to a tenth.
          for (const side of [into, out]) if (side > 0) expect(Math.abs(side - box.height)).toBeLessThan(1.5)
        }
      }),
    )
  })

  test('the texts tell the counts', () => {
    fc.assert(
      fc.property(counts, (any) => {
        const seen = texts(balancePicture(balanceFlow(any), WIDE))
        const all = allRecords(any)
        const expected = [
          ['→ mapped', any.rows.mapped],
          ['– skipped', any.rows.skipped],
          ['✓ accepted', all.accepted],
          ['= unchanged', all.unchanged],
          ['? in doubt', all.inDoubt],
          ['… pending', all.pending],
        ] as const
        for (const [name, number] of expected)
          if (number > 0) expect(seen).toContain(`${name} ${number.toLocaleString('en-US')}`)
        expect(seen.some((text) => text.includes('unaccounted'))).toBe(false)
      }),
    )
  })
})
