/** Job files and mappings that cost more than their size, or whose names are shell code. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { parseYaml } from '../../src/system/yaml-file.ts'
import { MappingDefinition } from '../../src/transform/mapping-definition.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'

const times = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join('')

/** Each some 60 kB. */
const COSTLY: Readonly<Record<string, string>> = {
  '20,000 aliases of one anchor': `a: &a x\nb: [${times(20_000, () => '*a,')}]\n`,
  'as many anchors as aliases': `b: [${times(5_000, (at) => `&a${at} x,*a${at},`)}]\n`,
  'aliases of aliases': times(
    9,
    (at) => `k${at}: &k${at} [${times(9, () => (at === 0 ? 'x,' : `*k${at - 1},`))}]\n`,
  ),
  'aliases of nothing': times(10_000, (at) => `k${at}: *a\n`),
  'merged keys': `a: &a { x: 1 }\n${times(3_000, (at) => `k${at}: { <<: *a }\n`)}`,
  '9,000 keys': times(9_000, (at) => `k${at}:\n`),
  'one key 12,000 times': times(12_000, () => 'a: 1\n'),
  'a tab on each of 12,000 lines': times(12_000, () => '\t- a\n'),
  'lists in lists': '['.repeat(60_000),
  'blocks in blocks': '- '.repeat(30_000),
  'tags of tags': times(15_000, () => '!!x '),
}

describe.each(Object.entries(COSTLY))('%s', (_, text) => {
  test.each([
    ['job', JobDefinition],
    ['mapping', MappingDefinition],
  ])(
    'in a %s: refused, in the time that its length takes, with no more problems than are read',
    (_what, schema) => {
      const before = process.cpuUsage()
      const refused = (() => {
        try {
          return parseYaml(text, 'x.yaml', schema, 'job-invalid')
        } catch (error) {
          return error
        }
      })()
      const { user, system } = process.cpuUsage(before)
      expect(refused).toBeInstanceOf(WaybillError)
      expect(refused).toMatchObject({ code: 'job-invalid' })
      expect((refused as WaybillError).findings.length).toBeLessThanOrEqual(100)
      // Of 48 seconds for the first of them.
      expect((user + system) / 1e6).toBeLessThan(3)
    },
  )
})

test('99 aliases are taken, and one of nothing is told with its line', () => {
  const schema = z.looseObject({})
  const aliases = (count: number) => `x: &x nightly\nmany: [${times(count, () => '*x, ')}]\n`
  expect(parseYaml(aliases(99), 'x.yaml', schema, 'job-invalid').value).toMatchObject({
    many: Array(99).fill('nightly'),
  })
  expect(() => parseYaml(aliases(101), 'x.yaml', schema, 'job-invalid')).toThrow(
    expect.objectContaining({
      findings: [{ place: expect.objectContaining({ line: 2 }), message: 'is one of more than 100 aliases' }],
    }),
  )
})

test('the names of job files are words of the command line, and nothing that bash carries out', async () => {
  const workplace = await createWorkplace()
  const { folder } = workplace
  const names = ['$(touch taken)', '`touch taken`', 'a b', "it's", 'x;touch taken', '*', 'plain']
  for (const name of names) await writeFile(join(folder, 'jobs', `${name}.yaml`), '')
  const program = join(folder, 'waybill')
  await writeFile(
    program,
    `#!/bin/sh\nexec "${process.execPath}" "${join(PROJECT, 'bin/waybill.js')}" "$@"\n`,
  )
  await chmod(program, 0o700)
  // What is completed becomes part of a line, which is carried out.
  const script = `source <(waybill completion bash)
COMP_WORDS=(waybill run ''); COMP_CWORD=2; _waybill
for one in "\${COMPREPLY[@]}"; do eval "printf '%s\\n' $one"; done`
  const env = { ...workplace.environment, PATH: `${folder}:${process.env['PATH']}` }
  const out = execFileSync('bash', ['-c', script], { env, encoding: 'utf8', cwd: folder })
  expect(out.trimEnd().split('\n').sort()).toEqual(names.toSorted())
  expect(() => readFileSync(join(folder, 'taken'))).toThrow('ENOENT')
})
