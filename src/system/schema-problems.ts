/** Problems of a checked value in plain words, in place of the words of zod; and suggestions for an unknown word. */
import { closestMatch } from 'leven'
import { z } from 'zod'

interface SchemaProblem {
  readonly path: (string | number)[]
  readonly message: string
}

type Raw = z.core.$ZodRawIssue

/**
 * Checks a value. A message of the schema itself stays; all further problems are worded here.
 * @returns the value from the schema, or the problems
 */
export function checkWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly data: z.infer<Schema> } | { readonly problems: readonly SchemaProblem[] } {
  // An issue has the list of unknown keys, but not the object with the known keys.
  const known = new Map<readonly unknown[], readonly string[]>()
  const error = (issue: Raw): string => {
    const { inst } = issue
    if (issue.code === 'unrecognized_keys' && inst instanceof z.ZodObject)
      known.set(issue.keys, Object.keys(inst.shape))
    return wordsFor(issue)
  }
  // `jitless`: compiling a checker does not pay for a single check.
  const parsed = schema.safeParse(value, { jitless: true, error })
  if (parsed.success) return { data: parsed.data }
  // Made for the first unknown key: most values have none.
  let places: ReadonlyMap<string, ReadonlySet<string>> | undefined
  const placesOf = (key: string): readonly string[] => {
    places ??= keyPlaces(schema)
    return [...(places.get(key) ?? [])]
  }
  return { problems: flatten(parsed.error.issues, known, placesOf) }
}

/** Replaces the message of a union by the problems of the branch with the deepest problem: the author meant this branch. */
function flatten(
  issues: readonly z.core.$ZodIssue[],
  known: ReadonlyMap<readonly unknown[], readonly string[]>,
  placesOf: (key: string) => readonly string[],
  base: readonly (string | number)[] = [],
): SchemaProblem[] {
  return issues.flatMap((issue): SchemaProblem[] => {
    const path = [...base, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))]
    if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      const ofRightType = issue.errors.filter(
        (branch) => !branch.some((one) => one.code === 'invalid_type' && one.path.length === 0),
      )
      const branches = (ofRightType.length > 0 ? ofRightType : issue.errors).map((branch) =>
        flatten(branch, known, placesOf, path),
      )
      const deepest = branches.reduce((best, branch) => (depth(branch) > depth(best) ? branch : best))
      if (depth(deepest) > path.length) return deepest
      const messages = new Set(branches.map((branch) => branch.map((one) => one.message).join('; ')))
      return [{ path, message: [...messages].join(', or ') }]
    }
    if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }))
    if (issue.code === 'unrecognized_keys') {
      const meant = known.get(issue.keys) ?? []
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: `unknown key "${key}"${didYouMean(key, meant) || placeWords(placesOf(key))}`,
      }))
    }
    return [{ path, message: issue.message }]
  })
}

/** @param places blocks of the schema with the unknown key: named if two at most */
const placeWords = (places: readonly string[]): string =>
  places.length === 1 || places.length === 2 ? `; it belongs in ${places.join(' or ')}` : ''

/** Collects the blocks of a schema by key, without the top. */
function keyPlaces(
  schema: unknown,
  path: readonly string[] = [],
  places = new Map<string, Set<string>>(),
): ReadonlyMap<string, ReadonlySet<string>> {
  if (schema instanceof z.ZodArray) keyPlaces(schema.element, path, places)
  else if (schema instanceof z.ZodUnion) for (const one of schema.options) keyPlaces(one, path, places)
  else if (schema instanceof z.ZodPipe)
    for (const one of [schema.in, schema.out]) keyPlaces(one, path, places)
  else if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    keyPlaces(schema.unwrap(), path, places)
  else if (schema instanceof z.ZodObject)
    for (const [name, value] of Object.entries(schema.shape)) {
      if (path.length > 0) places.set(name, (places.get(name) ?? new Set()).add(path.join('.')))
      keyPlaces(value, [...path, name], places)
    }
  return places
}

const depth = (problems: readonly SchemaProblem[]): number =>
  Math.max(...problems.map((problem) => problem.path.length))

/** Words for a type of a value in a YAML file. */
const CALLED: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a block of keys',
  record: 'a block of keys',
}

function wordsFor(issue: Raw): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${CALLED[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : `must be ${oneOf(issue.values, issue.input)}`
    case 'invalid_union': {
      const [key = ''] = (issue.path ?? []).slice(-1)
      const given: unknown = Object(issue.input)[key]
      return given === undefined
        ? 'is missing'
        : `must be ${oneOf(z.array(z.unknown()).catch([]).parse(issue['options']), given)}`
    }
    case 'too_small': {
      const { minimum, inclusive = true, origin } = issue
      if (COUNTED[origin] !== undefined && Number(minimum) === 1)
        return origin === 'string' ? 'must not be empty' : 'must not be an empty list'
      return inclusive ? `must ${amount(origin, minimum)} or more` : `must be more than ${minimum}`
    }
    case 'too_big': {
      const { maximum, inclusive = true, origin } = issue
      return inclusive ? `must ${amount(origin, maximum)} or less` : `must be less than ${maximum}`
    }
    case 'invalid_format':
      return FORMATS[issue.format] ?? `does not have the required format (${issue.format})`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    default:
      return 'cannot be used here'
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a time with its offset, like 2026-03-02T07:15:00Z',
  date: 'must be a day, like 2026-03-02',
  email: 'is not a mail address; write it like oncall@hospital.example',
  url: 'is not an address; write it like https://gateway.example',
}

const COUNTED: Readonly<Record<string, string>> = { string: 'characters', array: 'entries', tuple: 'entries' }

const amount = (origin: string, limit: number | bigint): string =>
  COUNTED[origin] === undefined ? `be ${limit}` : `have ${limit} ${COUNTED[origin]}`

const oneOf = (values: readonly unknown[], given: unknown): string => {
  const words = values.map(String)
  const [only = ''] = words
  const which = words.length === 1 ? only : `one of ${words.join(', ')}`
  return `${which}${typeof given === 'string' ? didYouMean(given, words) : ''}`
}

/** Longest word to compare: a comparison takes time in proportion to the product of both lengths. Longer words are no typing errors. */
const LONGEST_MEANT = 100

/**
 * Suggests a known word near a word: at most one letter in three is wrong, the letters are in another order (`jsno`), or one word contains the
 * other (`a1c`, `hba1c`).
 * @returns `; did you mean "x"?`, to follow a message; '' for no near word
 */
export function didYouMean(word: string, known: Iterable<string>): string {
  if (word.length > LONGEST_MEANT) return ''
  const words = [...known]
  const small = new Map(words.map((one) => [one.toLowerCase(), one]))
  const written = word.toLowerCase()
  const maxDistance = Math.max(1, Math.floor(written.length / 3))
  const keys = [...small.keys()]
  const near =
    closestMatch(written, keys, { maxDistance }) ??
    keys.find((one) => sorted(one) === sorted(written)) ??
    holding(written, keys)
  return near === undefined ? '' : `; did you mean "${small.get(near)}"?`
}

const sorted = (word: string): string => [...word].sort().join('')

/** Finds the shortest known word that contains the written word, or is contained in the written word. Skips words of two letters: too frequent. */
function holding(written: string, words: readonly string[]): string | undefined {
  const [shortest] = words
    .filter((one) =>
      one.length > written.length
        ? written.length > 2 && one.includes(written)
        : one.length > 2 && written.includes(one),
    )
    .sort((a, b) => a.length - b.length)
  return shortest
}
