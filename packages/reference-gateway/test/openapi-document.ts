import { Validator } from '@seriousme/openapi-schema-validator'
import { z } from 'zod'
import { startGateway } from './gateway-under-test.ts'

const Content = z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()).optional() }))

const Parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean(),
  schema: z.looseObject({}),
})
const Operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()),
  summary: z.string(),
  description: z.string().optional(),
  deprecated: z.literal(true).optional(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(Parameter).default([]),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), z.object({ content: Content.optional(), $ref: z.string().optional() })),
})
const Document = z.object({
  openapi: z.string(),
  info: z.object({ title: z.string(), version: z.string() }),
  tags: z.array(z.object({ name: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(z.string(), z.record(z.string(), z.unknown())),
    responses: z.record(z.string(), z.object({ content: Content })),
    securitySchemes: z.record(z.string(), z.unknown()),
  }),
})

/** An operation of the document with the place it stands at. */
export interface Published extends z.infer<typeof Operation> {
  readonly method: string
  readonly path: string
}

let kept: ReturnType<typeof readDocument> | undefined
/** The document of a gateway, as far as the tests look into it: it is the same wherever it is. */
export const publishedDocument = (): ReturnType<typeof readDocument> => {
  kept ??= readDocument('1.2.3')
  return kept
}

/** That of a gateway which is started now, and says that it is of this version. */
export async function readDocument(version: string) {
  const gateway = await startGateway({ version })
  const { status, headers, text } = await gateway.call('GET', '/openapi.json', undefined, {})
  const document = Document.parse(JSON.parse(text))
  const $defs = JSON.parse(toDefinitions(document.components.schemas))
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, operation]): Published => ({ ...operation, method: method.toUpperCase(), path }),
    ),
  )

  const checkable = (
    content: z.infer<typeof Content> | undefined,
    additional: string,
  ): z.ZodType | undefined => {
    const schema = Object.values(content ?? {})[0]?.schema
    if (schema === undefined) return undefined
    const whole = JSON.stringify({ ...JSON.parse(toDefinitions(schema)), $defs })
    return z.fromJSONSchema(
      JSON.parse(whole.replaceAll('"additionalProperties":{}', `"additionalProperties":${additional}`)),
    )
  }

  return {
    status,
    headers,
    text,
    document,
    operations,
    operation(name: string): Published {
      const found = operations.find(({ operationId }) => operationId === name)
      if (found === undefined) throw new Error(`the document has no operation ${name}`)
      return found
    },
    /** The schema of a body, of whichever media type, ready to check with; undefined where there is none. */
    schemaOf: (content: z.infer<typeof Content> | undefined) => checkable(content, '{}'),
    /** As `schemaOf`, refusing fields that are not described. */
    strictSchemaOf: (content: z.infer<typeof Content> | undefined) => checkable(content, 'false'),
    /** Complaints of OpenAPI's own schema about the document. */
    async faults(): Promise<unknown> {
      const { valid, errors } = await new Validator().validate(JSON.parse(text))
      return valid ? [] : errors
    },
  }
}

/** References as JSON Schema on its own has them. */
const toDefinitions = (schema: unknown) =>
  JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')
