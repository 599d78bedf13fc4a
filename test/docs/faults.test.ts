import { describe, expect, it } from 'vitest'
import { Fault, FaultPlan } from '../../packages/reference-gateway/src/fault-plan.ts'
import { ENDPOINT_NAMES, GROUPS, When } from '../../packages/reference-gateway/src/fault-targets.ts'
import { parseYaml } from '../../src/system/yaml-file.ts'
import { blocks, codeRows, page, sections, tableRows } from './pages.ts'

const text = page('docs/faults.md')
const chapters = sections(text, 2)
const chapter = (name: string): string => [...chapters].find(([heading]) => heading.includes(name))?.[1] ?? ''
const told = new Map(
  [...sections(text, 3)].map(([heading, body]) => [heading.replaceAll('`', ''), body] as const),
)
const plansIn = (markdown: string) =>
  blocks(markdown, 'yaml').map(
    (example) => parseYaml(example, 'docs/faults.md', FaultPlan, 'usage-wrong').value,
  )

describe('docs/faults.md', () => {
  it('has every kind of fault, and no other', () => {
    expect([...told.keys()].sort()).toEqual(Fault.options.map(({ shape }) => shape.do.value).sort())
  })

  it.each(Fault.options.map(({ shape }) => ({ kind: shape.do.value, keys: Object.keys(shape) })))(
    'has every key of $kind, no other, and an example',
    ({ kind, keys }) => {
      const section = told.get(kind) ?? ''
      const own = keys.filter((key) => !['do', 'on', 'when'].includes(key))
      const named = tableRows(section).flatMap(([keys = '']) => keys.replaceAll('`', '').split(', '))
      expect(named.sort()).toEqual(own.sort())
      const [example] = plansIn(section)
      expect(example?.faults.map((fault) => fault.do)).toEqual([kind])
    },
  )

  it('has every value that a key of words can take', () => {
    for (const { shape } of Fault.options) {
      const section = told.get(shape.do.value) ?? ''
      for (const key of ['as', 'say', 'before'] as const) {
        const words = key in shape ? JSON.stringify(Object(shape)[key].toJSONSchema().enum) : '[]'
        for (const word of JSON.parse(words))
          expect(section, `${shape.do.value} ${key}`).toContain(`\`${word}\``)
      }
    }
  })

  it('has every key of when, and no other', () => {
    expect(codeRows(chapter('`when`')).sort()).toEqual(Object.keys(When.shape).sort())
  })

  it('has every name that `on` takes, and no other', () => {
    const lists = chapter('`on`')
      .split('\n')
      .filter((line) => line.startsWith('- '))
    const names = lists.flatMap((line) => [...line.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    expect(names.sort()).toEqual([...GROUPS, ...ENDPOINT_NAMES].sort())
  })

  it('has plans that are good', () => {
    expect(plansIn(text).length).toBe(Fault.options.length + 2)
  })
})
