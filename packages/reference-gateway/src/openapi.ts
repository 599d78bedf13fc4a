import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import * as account from '../../../src/gateway/contract/account.ts'
import * as ageAssessment from '../../../src/gateway/contract/age-assessment.ts'
import * as content from '../../../src/gateway/contract/content.ts'
import { ENDPOINTS, type Endpoint, type EndpointName } from '../../../src/gateway/contract/endpoints.ts'
import * as healthProfile from '../../../src/gateway/contract/health-profile.ts'
import * as medicalRecords from '../../../src/gateway/contract/medical-records.ts'
import * as sharedObjects from '../../../src/gateway/contract/shared-objects.ts'
import { ArticleQuery } from './content.ts'

/** Exports of the contract by name. A schema among the exports is published under its name. */
const CONTRACT: Readonly<Record<string, unknown>> = {
  ...account,
  ...ageAssessment,
  ...content,
  ...healthProfile,
  ...medicalRecords,
  ...sharedObjects,
}
const { ErrorEnvelope } = sharedObjects

/** JSON Schema of draft 2020-12, the draft of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

const COMPONENTS = '#/components/schemas/'

/**
 * Writes schemas as JSON Schema with references to the contract's named schemas.
 *
 * @param io form before parsing (`input`) or after (`output`)
 */
function publishSchemas(schemas: readonly z.ZodType[], io: 'input' | 'output') {
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

  const textOf = (id: string): JsonSchema => {
    const { $schema: _, $id: __, ...schema } = { ...written[id] }
    return schema
  }
  /** Returns the JSON Schema of a schema: a reference if the contract has a name for it. */
  const of = (schema: z.ZodType): JsonSchema => {
    const id = registry.get(schema)?.id ?? ''
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
  /** Named schemas that are referred to, directly or through other schemas, in order of name. */
  const components = Object.fromEntries([...referred].sort().map((name) => [name, textOf(name)]))
  return { of, components }
}
type PublishedSchemas = ReturnType<typeof publishSchemas>

/** Queries served here for calls whose parameters the interface does not name. */
const QUERIES: Readonly<Record<string, z.ZodType | undefined>> = {
  listArticles: ArticleQuery,
} satisfies Partial<Record<EndpointName, z.ZodType>>

/** Notes for readers beyond the schemas. */
const NOTES: Readonly<Record<string, string | undefined>> = {
  readBiometrics: 'Either `accountReference` with `accountReferenceType`, or `entity`.',
  deleteCareTeams: 'At least one `id` or `npi`; both can be repeated.',
  setPrimaryCare: 'At least one of `id` and `npi`.',
  unsetPrimaryCare: 'At least one of `id` and `npi`.',
  upsertMedicalRecords:
    'A new reference number needs every required field. For an existing one, null clears a field and omitted fields keep their value. `dateOfService` and `requestSubtype` are read too.',
  searchMedicalRecords: 'At least one field of `patient`. `subTyp` is read too.',
  uploadAuthorization:
    'The address is the `authorizationUploadUrl` from the upsert, valid for 30 minutes; the path here is a placeholder.',
} satisfies Partial<Record<EndpointName, string>>

const SECURITY = {
  required: [{ apiKey: [], bearer: [] }],
  'not-shown': [{ apiKey: [] }, { apiKey: [], bearer: [] }],
  none: [{ apiKey: [] }],
} as const satisfies Record<Endpoint['bearer'], unknown>

const REFUSED = { $ref: '#/components/responses/Refused' }
const CALLS: readonly (readonly [string, Endpoint])[] = Object.entries(ENDPOINTS)

/**
 * Describes the interface as OpenAPI 3.1: an operation per call of `ENDPOINTS`, tagged with its section, with the schemas of the contract.
 * Request bodies are described as sent, answers as received.
 */
function describeInterface(version: string) {
  const sent = publishSchemas(
    CALLS.flatMap(([, { request }]) => request ?? []),
    'input',
  )
  const answered = publishSchemas(
    [ErrorEnvelope, ...CALLS.flatMap(([, { success }]) => success.body ?? [])],
    'output',
  )

  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, endpoint] of CALLS) {
    const described = operation(name, endpoint, sent, answered)
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: described }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Health-profile gateway',
      version,
      description:
        'Accounts, health profile, age assessment, content and medical-records requests, as served by the reference gateway of Waybill. The schemas leave open only what the interface leaves open.',
    },
    tags: [...new Set(CALLS.map(([, { section }]) => section))].map((tag) => ({ name: tag })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      responses: {
        Refused: {
          description: 'Refused: nothing was stored. `errors` lists each problem with its place.',
          content: { 'application/json': { schema: answered.of(ErrorEnvelope) } },
        },
      },
      schemas: { ...sent.components, ...answered.components },
    },
  }
}

function operation(name: string, endpoint: Endpoint, sent: PublishedSchemas, answered: PublishedSchemas) {
  const { section, summary, apiKey, bearer, contentType, request, success, deprecated } = endpoint
  const note = NOTES[name]
  const parameters = parametersOf(endpoint, endpoint.query ?? QUERIES[name])
  return {
    operationId: name,
    tags: [section],
    summary,
    ...(note && { description: note }),
    ...(deprecated && { deprecated }),
    security: apiKey ? SECURITY[bearer] : [],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(contentType && {
      requestBody: {
        required: true,
        content: { [contentType]: request === undefined ? {} : { schema: sent.of(request) } },
      },
    }),
    responses: {
      [success.status]: {
        description: 'Success.',
        ...(success.body && { content: { 'application/json': { schema: answered.of(success.body) } } }),
      },
      '400': REFUSED,
      ...(apiKey ? { '401': REFUSED } : {}),
      ...(name === 'deleteCareTeams' ? { '404': REFUSED } : {}),
      '4XX': REFUSED,
    },
  }
}

/** Returns path and query parameters, and the headers beside the credentials (sections "Authentication", "Versioning"). */
function parametersOf({ parameters, version, localised }: Endpoint, query: z.ZodType | undefined) {
  const header = (name: string, required: boolean, schema: JsonSchema) => ({
    name,
    in: 'header',
    required,
    schema,
  })
  return [
    ...(parameters === undefined ? [] : fieldsOf(parameters, 'path')),
    ...(query === undefined ? [] : fieldsOf(query, 'query')),
    ...(version === undefined ? [] : [header('X-API-Version', true, { type: 'string', const: version })]),
    ...(localised === undefined ? [] : [header('Accept-Language', false, { type: 'string' })]),
  ]
}

const Fields = z.object({
  properties: z.record(z.string(), z.record(z.string(), z.unknown())),
  required: z.array(z.string()).default([]),
})
/** JSON Schema of parameters: an object, or alternatives. */
const Alternatives = z.union([
  z.object({ anyOf: z.array(Fields) }).transform(({ anyOf }) => anyOf),
  Fields.transform((fields) => [fields]),
])

/** Returns the fields of a schema as parameters. A field of alternatives is required if every alternative requires it. */
function fieldsOf(schema: z.ZodType, place: 'path' | 'query') {
  const alternatives = Alternatives.parse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
  const fields = new Map(alternatives.flatMap(({ properties }) => Object.entries(properties)))
  return [...fields].map(([name, described]) => ({
    name,
    in: place,
    required: alternatives.every(({ required }) => required.includes(name)),
    schema: described,
  }))
}

/**
 * Serves `GET /openapi.json`, the interface as served here. The path is not part of the interface and needs no credentials. The text is
 * written at the first request.
 */
export function serveOpenApi(app: FastifyInstance, version: string): void {
  let text: string | undefined
  app.get('/openapi.json', async (_, reply) => {
    text ??= JSON.stringify(describeInterface(version))
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
