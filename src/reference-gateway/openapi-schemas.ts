import { z } from 'zod'
import * as accountReference from '../gateway/contract/account.ts'
import * as registration from '../gateway/contract/account.ts'
import * as ageResult from '../gateway/contract/age-assessment.ts'
import * as assessmentPage from '../gateway/contract/age-assessment.ts'
import * as content from '../gateway/contract/content.ts'
import * as biometric from '../gateway/contract/health-profile.ts'
import * as careTeam from '../gateway/contract/health-profile.ts'
import * as condition from '../gateway/contract/health-profile.ts'
import * as medicalRecordsRequest from '../gateway/contract/medical-records.ts'
import * as code from '../gateway/contract/shared-objects.ts'
import * as envelope from '../gateway/contract/shared-objects.ts'
import * as observationDate from '../gateway/contract/shared-objects.ts'
import * as source from '../gateway/contract/shared-objects.ts'

/** What the contract exports by name; a schema among it is published under that name. */
const CONTRACT: Readonly<Record<string, unknown>> = {
  ...accountReference,
  ...ageResult,
  ...assessmentPage,
  ...biometric,
  ...careTeam,
  ...code,
  ...condition,
  ...content,
  ...envelope,
  ...medicalRecordsRequest,
  ...observationDate,
  ...registration,
  ...source,
}

/** JSON Schema of draft 2020-12, which is that of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Schemas as they are published. */
export interface PublishedSchemas {
  /** JSON Schema of one of the schemas asked for: a reference where the contract has a name for it. */
  of(schema: z.ZodType): JsonSchema
  /** The named schemas that are referred to, straight or through others, in the order of their names. */
  readonly components: Readonly<Record<string, JsonSchema>>
}

const COMPONENTS = '#/components/schemas/'

/**
 * Writes schemas as JSON Schema that refers to the contract's named schemas.
 * @param io the form that is sent to be checked (`input`), or that which comes of it (`output`)
 */
export function publishSchemas(schemas: readonly z.ZodType[], io: 'input' | 'output'): PublishedSchemas {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(CONTRACT)) {
    if (schema instanceof z.ZodType) registry.add(schema, { id })
  }
  const named = new Set(Object.keys(CONTRACT))
  for (const [index, schema] of schemas.entries()) {
    if (!registry.has(schema)) registry.add(schema, { id: `unnamed ${index}` })
  }
  const written = z.toJSONSchema(registry, {
    io,
    unrepresentable: 'any',
    uri: (id) => COMPONENTS + id,
  }).schemas

  const idOf = (schema: z.ZodType): string => {
    const id = registry.get(schema)?.id
    if (id === undefined) throw new TypeError('the schema was not handed in')
    return id
  }
  const textOf = (id: string): JsonSchema => {
    const { $schema: _, $id: __, ...schema } = { ...written[id] }
    return schema
  }
  const of = (schema: z.ZodType): JsonSchema => {
    const id = idOf(schema)
    return named.has(id) ? { $ref: COMPONENTS + id } : textOf(id)
  }

  const referred = new Set<string>()
  const follow = (schema: JsonSchema): void => {
    for (const [, name] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name === undefined || referred.has(name)) continue
      referred.add(name)
      follow(textOf(name))
    }
  }
  for (const schema of schemas) follow(of(schema))
  const components = Object.fromEntries([...referred].sort().map((name) => [name, textOf(name)]))
  return { of, components }
}
