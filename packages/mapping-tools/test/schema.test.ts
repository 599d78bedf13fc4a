import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { jsonSchemas } from '../src/schema.ts'
import { draftedMapping, NHANES_LIKE } from './draft/drafting.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const keysIn = (section: string): string[] =>
  Object.keys(parse(readFileSync(join(ROOT, `mappings/catalog/${section}.yaml`), 'utf8')))
const keys = { biometrics: keysIn('biometrics'), conditions: keysIn('conditions') }
const schemas = jsonSchemas(keys)

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': true } })
const validators = new Map(Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema)]))

/** Problems that an editor would show, as `place: message`. */
function problems(name: string, text: string): string[] {
  const validate = validators.get(name)
  // As an editor reads it: numbers are numbers.
  validate?.(parse(text))
  return (validate?.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`)
}

const KINDS = [
  ['job', 'jobs/*.yaml'],
  ['cases', 'mappings/*.cases.yaml'],
  ['catalog-biometrics', 'mappings/catalog/biometrics.yaml'],
  ['catalog-conditions', 'mappings/catalog/conditions.yaml'],
] as const
const mappings = globSync('mappings/*.yaml', { cwd: ROOT })
  .filter((file) => !file.endsWith('.cases.yaml'))
  .map((file) => ['mapping', file] as const)
const shipped = [
  ...mappings,
  ...KINDS.flatMap(([kind, glob]) => globSync(glob, { cwd: ROOT }).map((file) => [kind, file] as const)),
]

describe('the JSON Schemas', () => {
  test.each(Object.keys(schemas))('schemas/%s.schema.json is what is generated', (name) => {
    const committed: unknown = JSON.parse(readFileSync(join(ROOT, 'schemas', `${name}.schema.json`), 'utf8'))
    expect(committed, 'run `npm run schemas`').toEqual(schemas[name])
  })

  test('there are files of every kind', () => {
    expect(new Set(shipped.map(([kind]) => kind))).toEqual(new Set(Object.keys(schemas)))
  })

  test.each(shipped)('as %s, %s has no problem, and mappings and jobs name their schema', (kind, file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    expect(problems(kind, text)).toEqual([])
    if (kind !== 'cases')
      expect(text.split('\n')[0]).toMatch(new RegExp(`=(\\.\\./)+schemas/${kind}\\.schema\\.json$`))
  })

  test('an editor completes what the catalog knows, and takes other names', () => {
    const text = JSON.stringify(schemas['mapping'])
    for (const key of [...keys.biometrics, ...keys.conditions]) expect(text).toContain(`"${key}":{`)
    expect(text).not.toContain('catalogKeys')
    const head = readFileSync(join(ROOT, 'mappings/long-csv.yaml'), 'utf8').split(/^biometrics:/m)[0] ?? ''
    expect(problems('mapping', `${head}biometrics: { my-a1c: { catalog: hba1c, from: a } }\n`)).toEqual([])
    expect(problems('mapping', `${head}biometrics: { mine: { catalog: of-the-job, from: a } }\n`)).toEqual([])
    expect(problems('mapping', `${head}biometrics: { hba1c: { form: a } }\n`)).not.toEqual([])
  })

  test('a draft has no problem', () => {
    expect(problems('mapping', draftedMapping(NHANES_LIKE).text)).toEqual([])
  })

  test.each([
    ['mapping', 'mapping: m\nrow: {}\n', "must have required property 'read'"],
    [
      'mapping',
      'mapping: m\nread: { format: csv, delimitter: ";" }\nrow: {}\n',
      'must NOT have additional properties',
    ],
    [
      'mapping',
      'mapping: m\nread: { format: csv, each: { a: "$.a[*]" } }\nrow: {}\n',
      'must NOT have additional properties',
    ],
    ['job', 'job: My Job\nexports: { from: a, match: b }\n', 'must match pattern'],
    ['job', 'job: a\nexports: { from: a, match: b }\nsubmit: { concurrency: 100 }\n', 'must be <= 64'],
    ['cases', 'cases: []\n', 'must NOT have fewer than 1 items'],
    [
      'catalog-biometrics',
      'a: { name: A, loinc: 8480-6, unit: kg, range: [1], decimals: 1 }\n',
      'must NOT have fewer than 2 items',
    ],
  ])('as %s, %j is refused', (kind, text, message) => {
    expect(problems(kind, text).join('\n')).toContain(message)
  })

  test('keys tell what they are for', () => {
    expect(JSON.stringify(schemas['mapping'])).toContain('"description":"Rows to leave out."')
    expect(JSON.stringify(schemas['job'])).toContain('"description":"Maximum number of requests in flight."')
  })
})
