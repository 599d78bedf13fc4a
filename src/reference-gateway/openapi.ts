import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import * as account from '../gateway/contract/account.ts'
import * as ageAssessment from '../gateway/contract/age-assessment.ts'
import * as content from '../gateway/contract/content.ts'
import { ENDPOINTS, type Endpoint, type EndpointName } from '../gateway/contract/endpoints.ts'
import * as healthProfile from '../gateway/contract/health-profile.ts'
import * as medicalRecords from '../gateway/contract/medical-records.ts'
import * as sharedObjects from '../gateway/contract/shared-objects.ts'
import { ArticleQuery } from './content.ts'

/** What the contract exports by name; a schema among it is published under that name. */
const CONTRACT: Readonly<Record<string, unknown>> = {
  ...{ ...account, ...ageAssessment, ...content },
  ...{ ...healthProfile, ...medicalRecords, ...sharedObjects },
}
const { ErrorEnvelope } = sharedObjects

/** JSON Schema of draft 2020-12, which is that of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

const COMPONENTS = '#/components/schemas/'

/**
 * Writes schemas as JSON Schema that refers to the contract's named schemas.
 * @param io the form that is sent to be checked (`input`), or that which comes of it (`output`)
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
  /** JSON Schema of one of the schemas asked for: a reference where the contract has a name for it. */
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
  /** The named schemas that are referred to, straight or through others, in the order of their names. */
  const components = Object.fromEntries([...referred].sort().map((name) => [name, textOf(name)]))
  return { of, components }
}
type PublishedSchemas = ReturnType<typeof publishSchemas>

/** Queries of calls whose parameters the interface does not name: those that are served here. */
const QUERIES: Readonly<Record<string, z.ZodType | undefined>> = {
  listArticles: ArticleQuery,
} satisfies Partial<Record<EndpointName, z.ZodType>>

/** What a reader has to know beyond the schemas. */
const NOTES: Readonly<Record<string, string | undefined>> = {
  readBiometrics: 'Either `accountReference` with `accountReferenceType`, or `entity`.',
  deleteCareTeams: 'At least one `id` or `npi`; both can be repeated.',
  setPrimaryCare: 'At least one of `id` and `npi`.',
  unsetPrimaryCare: 'At least one of `id` and `npi`.',
  upsertMedicalRecords:
    'A request whose reference number is new needs every required field; of one that exists, fields that are null are cleared and those omitted keep their value. `dateOfService` and `requestSubtype` are read too.',
  searchMedicalRecords: 'At least one field of `patient`. `subTyp` is read too.',
  uploadAuthorization:
    'The address is the `authorizationUploadUrl` that the upsert answers, for 30 minutes; the path here stands for it.',
} satisfies Partial<Record<EndpointName, string>>

const SECURITY = {
  required: [{ apiKey: [], bearer: [] }],
  'not-shown': [{ apiKey: [] }, { apiKey: [], bearer: [] }],
  none: [{ apiKey: [] }],
} as const satisfies Record<Endpoint['bearer'], unknown>

const REFUSED = { $ref: '#/components/responses/Refused' }
const CALLS: readonly (readonly [string, Endpoint])[] = Object.entries(ENDPOINTS)

/**
 * The interface as OpenAPI 3.1: each call of `ENDPOINTS` an operation of its name, tagged with its section, with the
 * schemas of the contract. Bodies that are sent are described in the form that goes in, answers in the form that comes out.
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
        'Accounts, health profile, age assessment, content and medical-records requests, as the reference gateway of Waybill serves them. Amounts and dates are as the schemas say; what they leave open is open in the interface.',
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
          description: 'Refused: nothing was stored. `errors` says what is wrong, and where.',
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

/** Path and query parameters, and the headers beside the credentials (sections "Authentication", "Versioning"). */
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
/** What a parameters' schema is written as: an object, or several that stand in for each other. */
const Alternatives = z.union([
  z.object({ anyOf: z.array(Fields) }).transform(({ anyOf }) => anyOf),
  Fields.transform((fields) => [fields]),
])

/** The fields of a schema as parameters; of alternatives, those are required that each of them requires. */
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
 * `GET /openapi.json`: the interface as it is served here. It is not of the interface itself, and asks for no
 * credentials. Written when it is first asked for.
 */
export function serveOpenApi(app: FastifyInstance, version: string): void {
  let text: string | undefined
  app.get('/openapi.json', async (_, reply) => {
    text ??= JSON.stringify(describeInterface(version))
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
