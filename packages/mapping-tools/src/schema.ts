/**
 * JSON Schemas (draft 2020-12) of hand-written files, for editors, generated from their definitions. `waybill mapping check` enforces rules
 * beyond a schema (an existing zone, a form with the whole day).
 */
import { z } from 'zod'
import { JobDefinition } from '../../../src/definitions/job-definition.ts'
import { readDefinition } from '../../../src/extract/read-definition.ts'
import { BiometricCatalog, ConditionCatalog } from '../../../src/transform/catalog.ts'
import { MappingDefinition } from '../../../src/transform/mapping-definition.ts'
import { CaseFile } from './run-cases.ts'

export interface JsonSchema {
  [key: string]: unknown
}

const Schema = z.record(z.string(), z.unknown())
const Objects = z.object({ properties: z.record(z.string(), Schema) })
const Variants = z.object({ oneOf: z.array(Schema).optional(), anyOf: z.array(Schema).optional() })

/** Keys of the catalog for completion in editors. */
export interface CatalogKeys {
  readonly biometrics: readonly string[]
  readonly conditions: readonly string[]
}

/** Schemas by file name without `.schema.json`. */
export function jsonSchemas(keys: CatalogKeys): Readonly<Record<string, JsonSchema>> {
  return {
    job: generate(
      JobDefinition,
      'Job',
      'What to read, with which mapping, when, and how to submit it (docs/jobs.md).',
    ),
    mapping: Schema.parse(withKeys(mappingSchema(), keys)),
    cases: casesSchema(),
    'catalog-biometrics': generate(
      BiometricCatalog,
      'Catalog of measurements',
      'Catalog key to what is sent and what is plausible.',
    ),
    'catalog-conditions': generate(
      ConditionCatalog,
      'Catalog of conditions',
      'Catalog key to ICD-10-CM and SNOMED CT codes.',
    ),
  }
}

function generate(definition: z.ZodType, title: string, description: string): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(definition, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    reused: 'ref',
  })
  const { '~standard': _standard, ...plain } = rest as JsonSchema
  return { $schema, title, description, ...plain }
}

/** Combines the `read` block of extract with the levels of transform. */
function mappingSchema(): JsonSchema {
  const schema = generate(MappingDefinition, 'Mapping', 'How a row becomes records (docs/mapping.md).')
  const { properties } = Objects.parse(schema)
  const { properties: loose } = Objects.parse(resolved(schema, properties['read'] ?? {}))
  const {
    $schema: _dialect,
    $defs,
    ...read
  } = z.toJSONSchema(readDefinition, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
  }) as JsonSchema
  if ($defs !== undefined) throw new TypeError('the read block has definitions of its own')
  const { oneOf, anyOf } = Variants.parse(read)
  const variants = (oneOf ?? anyOf ?? []).map((variant) => {
    const { properties: keys } = Objects.parse(variant)
    return keys['format']?.['const'] === 'csv'
      ? variant
      : { ...variant, properties: { ...keys, each: loose['each'] } }
  })
  const description = 'How the bytes of an export become rows.'
  return { ...schema, properties: { ...properties, read: { description, oneOf: variants } } }
}

/** Lists the keys of the catalog at places marked with `catalogKeys`; others remain possible. */
function withKeys(part: unknown, keys: CatalogKeys): unknown {
  if (Array.isArray(part)) return part.map((one) => withKeys(one, keys))
  if (typeof part !== 'object' || part === null) return part
  const { catalogKeys, ...inner } = Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, withKeys(value, keys)] as const),
  )
  if (catalogKeys === undefined) return inner
  const { biometrics, conditions } = keys
  const meant =
    catalogKeys === 'any'
      ? [...biometrics, ...conditions]
      : catalogKeys === 'biometrics'
        ? biometrics
        : conditions
  const { additionalProperties } = inner
  return additionalProperties === undefined
    ? { anyOf: [{ enum: meant }, inner] }
    : { ...inner, properties: Object.fromEntries(meant.map((key) => [key, additionalProperties])) }
}

const resolved = (schema: JsonSchema, part: JsonSchema): JsonSchema => {
  const name = /^#\/\$defs\/(.+)$/.exec(String(part['$ref']))?.[1]
  return name === undefined ? part : (z.record(z.string(), Schema).parse(schema['$defs'])[name] ?? {})
}

/** Schema of cases. Cases hold texts (`5.10` without quotes), which an editor takes for numbers. */
function casesSchema(): JsonSchema {
  const schema = generate(CaseFile, 'Cases', 'Rows with their expected results (docs/mapping.md, "Cases").')
  return Schema.parse(anyScalar(schema))
}

function anyScalar(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(anyScalar)
  if (typeof part !== 'object' || part === null) return part
  const members = Object.entries(part).map(([key, inner]) => [key, anyScalar(inner)] as const)
  const inner = Object.fromEntries(members)
  return inner['type'] === 'string' && inner['enum'] === undefined
    ? { ...inner, type: ['string', 'number', 'boolean', 'null'] }
    : inner
}
