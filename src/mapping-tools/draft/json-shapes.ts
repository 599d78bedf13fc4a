/** The shapes in which results come as JSON: how each is recognised, and where in it things stand (json-shapes.yaml). */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { JsonValue } from '../../model/row.ts'
import { compileSteps, follow, SEVERAL } from '../../transform/scope.ts'
import { parseYaml } from '../../yaml-file.ts'
import { findHl7, Hl7Names } from './hl7-names.ts'
import { REGISTER } from './match-persons.ts'
import type { Vocabulary } from './vocabulary.ts'

const Paths = z.array(z.string())
const Levels = z.record(z.string(), z.string())
const Results = z.record(z.enum(['code', 'name', 'value', 'unit', 'status', 'refRange']), Paths)
const Recognise = z.strictObject({ path: z.string(), is: z.string().optional() })

/** Where things stand. */
const Places = z.strictObject({
  key: Paths,
  reference: Paths,
  register: z.partialRecord(z.enum(REGISTER), Paths).default({}),
  observedAt: Paths,
  /** Asked about, where nothing says when it was observed. */
  written: Paths.default([]),
  /** Beside the code, what it is called. */
  biometrics: Results.optional(),
  /** Results within a result, by a level of their own: what there is of them is as in `biometrics`. */
  components: z.strictObject({ each: Levels, rules: Results }).optional(),
  conditions: z.record(z.enum(['code', 'status']), Paths).optional(),
})
type Places = z.infer<typeof Places>

const Named = { kind: z.string(), recognise: Recognise, each: Levels }

const Converter = z.strictObject({
  ...Named,
  segments: z.record(z.enum(['PID', 'MSH', 'OBR', 'OBX']), z.string()),
  firstField: z.record(z.string(), z.coerce.number()).default({}),
  component: Paths,
  whole: Paths.default([]),
})

const Shapes = z.strictObject({
  hl7: Places,
  names: Hl7Names,
  converters: z.array(Converter),
  shapes: z.array(z.strictObject({ ...Named, ...Places.shape })),
})

export interface JsonShape extends Places {
  readonly kind: string
  readonly recognises: (document: JsonValue) => boolean
  readonly each: Readonly<Record<string, string>>
  /** A row is one result, which its key must name. */
  readonly ofOneResult?: boolean
}
export type ResultPaths = z.infer<typeof Results>

const FILE = fileURLToPath(new URL('json-shapes.yaml', import.meta.url))

const readFile = (): z.infer<typeof Shapes> =>
  parseYaml(readFileSync(FILE, 'utf8'), FILE, Shapes, 'catalog-invalid', 'text').value

/** The shape of HL7 v2 whose converter is not known, by the names of its members; undefined where it is none. */
export function shapeByNames(
  rows: readonly JsonValue[],
  vocabulary: Pick<Vocabulary, 'naming' | 'words'>,
): JsonShape | undefined {
  const { hl7, names } = readFile()
  const found = findHl7(rows, names, vocabulary)
  return (
    found && {
      ...Places.parse(leadingTo(hl7, found.pathsOf)),
      kind: 'results, by the names that HL7 v2 has for their parts',
      ofOneResult: Object.keys(found.each).length === 0,
      recognises: () => true,
      each: found.each,
    }
  )
}

/** @throws WaybillError `catalog-invalid` where the file is not as it is shipped */
export function readShapes(): JsonShape[] {
  const { hl7, converters, shapes } = readFile()
  const written = converters.map((converter) => ({
    ...Places.parse(leadingTo(hl7, (place) => pathsOf(converter, place))),
    kind: converter.kind,
    recognise: converter.recognise,
    each: converter.each,
  }))
  return [...written, ...shapes].map(({ recognise, ...shape }) => {
    const steps = compileSteps(recognise.path, recognise.path)
    return {
      ...shape,
      recognises(document) {
        const found = follow(document, steps)
        if (found === undefined || found === SEVERAL) return false
        return recognise.is === undefined || found === recognise.is
      },
    }
  })
}

/** A value in which each text of a list, at whatever depth, is replaced by the paths that it leads to. */
function leadingTo(value: unknown, pathsAt: (place: string) => readonly string[]): unknown {
  if (Array.isArray(value)) return value.flatMap((place) => pathsAt(String(place)))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, leadingTo(inner, pathsAt)]))
}

/** The paths of a component as a converter writes it. @param place `PID.5.2` */
function pathsOf(
  { segments, firstField, component, whole }: z.infer<typeof Converter>,
  place: string,
): string[] {
  const [segment = '', field = '', part = ''] = place.split('.')
  const known: Readonly<Record<string, string | number | undefined>> = {
    at: Object.entries(segments).find(([name]) => name === segment)?.[1],
    segment,
    field,
    component: part,
    index: Number(field) - (firstField[segment] ?? 1),
    place: Number(part) - 1,
  }
  return [...component, ...(part === '1' ? whole : [])].map((template) =>
    template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(known[name])),
  )
}
