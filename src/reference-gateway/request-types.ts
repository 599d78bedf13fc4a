import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseYaml } from '../yaml-file.ts'

const FILE = fileURLToPath(new URL('definitions/request-types.yaml', import.meta.url))

const text = z.string().min(1)
const unique = <Item extends { readonly id: string; readonly name: string }>(items: readonly Item[]) =>
  new Set(items.flatMap(({ id, name }) => [id, name])).size === 2 * items.length

const Subtype = z.strictObject({ id: text, name: text, disabled: z.boolean().nullable() })
const RequestType = z.strictObject({
  id: text,
  name: text,
  requestSubType: z.array(Subtype).min(1).refine(unique, 'an id or a name occurs twice'),
})
/** Section "Request type item". */
export type RequestType = z.infer<typeof RequestType>

const RequestTypesFile = z.strictObject({
  requestTypes: z.array(RequestType).min(1).refine(unique, 'an id or a name occurs twice'),
})

/** The request types of the requester: "a value from the request types list", by id or by name. */
export interface RequestTypes {
  readonly items: readonly RequestType[]
  /** The id of the type with this id or name; undefined where there is none. */
  typeIdOf(type: string): string | undefined
  /** The id of the type's subtype with this id or name, disabled or not; undefined where it is not of that type. */
  subtypeIdOf(type: string, subtype: string): string | undefined
  /** Whether requests may name the subtype; `disabled` null says as much as false. */
  isDisabled(type: string, subtype: string): boolean
}

/** Checks the text of a definition file. Throws `usage-wrong` naming the lines that are wrong. */
export function parseRequestTypes(definition: string): RequestTypes {
  const items = parseYaml(definition, FILE, RequestTypesFile, 'usage-wrong').value.requestTypes
  const named = <Item extends { id: string; name: string }>(list: readonly Item[], wanted: string) =>
    list.find(({ id, name }) => id === wanted || name === wanted)
  const subtypeOf = (type: string, subtype: string) =>
    named(named(items, type)?.requestSubType ?? [], subtype)
  return {
    items,
    typeIdOf: (type) => named(items, type)?.id,
    subtypeIdOf: (type, subtype) => subtypeOf(type, subtype)?.id,
    isDisabled: (type, subtype) => subtypeOf(type, subtype)?.disabled === true,
  }
}

/** The request types that the reference gateway serves. */
export async function readRequestTypes(): Promise<RequestTypes> {
  return parseRequestTypes(await readFile(FILE, 'utf8'))
}
