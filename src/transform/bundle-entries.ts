/**
 * Entries of a FHIR R4 Bundle that is a row: the person whom a resource is about, and resources that the Bundle deletes. Both are checked,
 * unless the mapping reads them, or names them under `ignore`.
 */
import { type Fault, fault, type RecordKind } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { elements, firstText, membersOf } from './json-values.ts'
import { type Anchor, anchorAt, readAt, readingOf } from './reading.ts'
import { follow, type Scope, SEVERAL } from './scope.ts'
import { ENTRY } from './structures.ts'

export interface CompiledEntry {
  /** Fault of an entry about another person. @param reference the row's person, as sent */
  readonly isOfAnother: (scope: Scope, reference: string) => Fault | undefined
  readonly isDeleted: (scope: Scope) => boolean
  /** Kinds of the deleted resources that the Bundle does not show. */
  readonly deletedIn: (root: Scope) => readonly RecordKind[]
}

const OF_ANOTHER = fault(
  'subject-of-another',
  'the resource is about somebody or something else than the patient of its Bundle',
)
export const DELETED = fault(
  'resource-deleted',
  'the Bundle deletes the resource: what was delivered of it stays at the gateway, which cannot delete it',
)
/** Reason by which the result of a deleted entry is counted. */
export const BY_REQUEST = 'request DELETE'

const KINDS: ReadonlyMap<string, RecordKind> = new Map([
  ['Observation', 'biometric'],
  ['Condition', 'condition'],
  ['CareTeam', 'careTeam'],
])

/** @param reads paths of the rule; `rowReads`: paths of the row block. Undefined for a rule that reads no entry */
export function compileEntry(
  { names: { trails: trailsOf }, findings }: CompileContext,
  reads: readonly string[],
  rowReads: readonly string[],
  ignored: readonly string[],
): CompiledEntry | undefined {
  if (trailsOf === undefined || findings.length > 0) return undefined
  for (const name of reads) {
    const trails = trailsOf(name)
    const at = trails.at(-1)?.steps.indexOf('entry') ?? -1
    const [bundle, entry] = [anchorAt(trails, at), anchorAt(trails, at + 2)]
    if (at < 0 || entry === undefined || bundle === undefined) continue
    const isRead = (...steps: string[]): boolean =>
      readAt(readingOf(entry.whole, [...reads, ...rowReads], trailsOf), steps) !== undefined
    const isAnybody = ignored.includes(ENTRY.subject) || isRead('resource', 'subject')
    const isKept = ignored.includes(ENTRY.request) || isRead('request')
    const personIn = lastPerson()
    return {
      isOfAnother(scope, reference) {
        if (isAnybody) return undefined
        const { subject } = membersOf(membersOf(valueAt(entry, scope))['resource'])
        const person = personIn(valueAt(bundle, scope), reference)
        return isAbout(membersOf(subject), person) ? undefined : OF_ANOTHER
      },
      isDeleted: (scope) => !isKept && isDeletion(membersOf(valueAt(entry, scope))),
      deletedIn: (root) =>
        isKept ? [] : entriesOf(valueAt(bundle, root)).filter(isDeletion).flatMap(kindUnseen),
    }
  }
  return undefined
}

type Members = ReturnType<typeof membersOf>

function valueAt({ from, steps }: Anchor, scope: Scope): JsonValue {
  const found = follow(scope[from], steps)
  return found === SEVERAL ? null : (found ?? null)
}

const entriesOf = (bundle: JsonValue): Members[] =>
  elements(membersOf(bundle)['entry'] ?? null).map(membersOf)

const isDeletion = ({ request }: Members): boolean => firstText(membersOf(request)['method']) === 'DELETE'

/** Kind of a resource by its address; none for a resource that the entry shows, or of no kind. */
function kindUnseen({ request, resource }: Members): RecordKind | [] {
  const [, type = ''] = /(?:^|\/)([A-Z]\w+)(?:[/?]|$)/.exec(textOf(membersOf(request)['url'])) ?? []
  return (resource === undefined ? KINDS.get(type) : undefined) ?? []
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

interface Person {
  /** Full URL of the entry. */
  readonly url: string
  /** URL, ids, and identifiers as `system|value` and `|value`. */
  readonly names: ReadonlySet<string>
}

/** Person of a Bundle by the row's reference. Keeps the last one: the entries of a Bundle come one after another. */
function lastPerson(): (bundle: JsonValue, reference: string) => Person {
  let last: { readonly bundle: JsonValue; readonly reference: string; readonly person: Person } | undefined
  return (bundle, reference) => {
    if (last?.bundle !== bundle || last.reference !== reference)
      last = { bundle, reference, person: personOf(bundle, reference) }
    return last.person
  }
}

/** The patient of that id, URL or identifier, or the only one. */
function personOf(bundle: JsonValue, reference: string): Person {
  const patients = entriesOf(bundle).flatMap(({ fullUrl, resource }): Person[] => {
    const { resourceType, id, identifier = null } = membersOf(resource)
    if (resourceType !== 'Patient') return []
    const url = textOf(fullUrl)
    const identifiers = elements(identifier).flatMap((one) => {
      const { system, value } = membersOf(one)
      return [`${textOf(system)}|${textOf(value)}`, `|${textOf(value)}`]
    })
    return [{ url, names: new Set([url, textOf(id), url.replace(/^.*[/:]/, ''), ...identifiers]) }]
  })
  const [only, another] = patients
  const named = patients.find(({ names }) => names.has(reference) || names.has(`|${reference}`))
  const lone = another === undefined ? only : undefined
  return named ?? lone ?? { url: '', names: new Set([reference, `|${reference}`]) }
}

const SERVER = /^https?:/

function isAbout({ reference, identifier }: Members, { url, names }: Person): boolean {
  const text = textOf(reference).replace(/\/_history\/[^/]*$/, '')
  if (text === '') {
    const { system, value } = membersOf(identifier)
    return textOf(value) === '' || names.has(`${textOf(system)}|${textOf(value)}`)
  }
  const [, query] = /^Patient\?identifier=(.+)$/.exec(text) ?? []
  if (query !== undefined) return names.has(query.includes('|') ? query : `|${query}`)
  if (names.has(text)) return true
  // The same id on another server is another person.
  if (SERVER.test(text) && SERVER.test(url)) return false
  const [, id] = /^(?:(?:https?:\S+\/)?Patient\/|urn:(?:uuid|oid):)([^/:#?]+)$/.exec(text) ?? []
  return id !== undefined && names.has(id)
}
