/**
 * Entries of a FHIR R4 Bundle as a row: the person of each resource, and deleted resources. Both are checked, unless the mapping reads or ignores
 * the members.
 */
import { type Fault, fault, type RecordKind } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { elements, membersOf } from './json-values.ts'
import { readReference } from './references.ts'
import { follow, type Scope, SEVERAL } from './scope.ts'
import { type Anchor, anchorAt, ENTRY, readAt, readingOf } from './whole-value.ts'

interface CompiledEntry {
  /** Fault of the entry: about another person, or `DELETED`. @param reference the row's person, as sent */
  readonly faultOf: (scope: Scope, reference: string) => Fault | undefined
  /** Kinds of deleted resources without content in the Bundle. */
  readonly unseenIn: (root: Scope) => readonly RecordKind[]
}

const OF_ANOTHER = fault('subject-of-another', 'the subject of the resource is not the patient of its Bundle')
export const DELETED = fault(
  'resource-deleted',
  'the Bundle deletes the resource: delivered records stay, because the gateway cannot delete them',
)

const KINDS: Readonly<Record<string, RecordKind>> = {
  Observation: 'biometric',
  Condition: 'condition',
  CareTeam: 'careTeam',
}

/** @param reads paths of the rule; `rowReads`: paths of the row block. Undefined for a rule that reads no entry */
export function compileEntry(
  { names: { trails: trailsOf }, findings }: CompileContext,
  reads: readonly string[],
  rowReads: readonly string[],
  ignored: readonly string[],
): CompiledEntry | undefined {
  // A path with a finding has no trail.
  if (trailsOf === undefined || findings.length > 0) return undefined
  for (const name of reads) {
    const trails = trailsOf(name)
    const at = trails.at(-1)?.steps.indexOf('entry') ?? -1
    const [bundle, entry] = at < 0 ? [] : [anchorAt(trails, at), anchorAt(trails, at + 2)]
    if (entry === undefined || bundle === undefined) continue
    const read = readingOf(entry.whole, [...reads, ...rowReads], trailsOf)
    const isAnybody = ignored.includes(ENTRY.subject) || readAt(read, ['resource', 'subject']) !== undefined
    const isKept = ignored.includes(ENTRY.request) || read.below.has(ENTRY.request)
    // Entries of a Bundle come in a row.
    let last: { readonly bundle: JsonValue; readonly person: Person } | undefined
    return {
      faultOf(scope, reference) {
        const members = membersOf(valueAt(entry, scope))
        const around = valueAt(bundle, scope)
        if (last?.bundle !== around) last = { bundle: around, person: personOf(around, reference) }
        const { subject } = membersOf(members['resource'])
        if (!isAnybody && !isAbout(membersOf(subject), last.person)) return OF_ANOTHER
        return !isKept && isDeletion(members) ? DELETED : undefined
      },
      unseenIn: (root) =>
        entriesOf(valueAt(bundle, root)).flatMap((one) => {
          if (isKept || one['resource'] !== undefined || !isDeletion(one)) return []
          const url = textOf(membersOf(one['request'])['url'])
          return KINDS[/(?:^|\/)([A-Z]\w+)(?:[/?]|$)/.exec(url)?.[1] ?? ''] ?? []
        }),
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
const isDeletion = ({ request }: Members): boolean => membersOf(request)['method'] === 'DELETE'
const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

interface Person {
  /** Full URL of the entry. */
  readonly url: string
  /** References to the person, ids, and identifiers as `system|value` and `|value`. */
  readonly names: ReadonlySet<string>
}

/** The patient of that id, URL or identifier, or the only one. */
function personOf(bundle: JsonValue, reference: string): Person {
  const patients = entriesOf(bundle).flatMap(({ fullUrl, resource }): Person[] => {
    const { resourceType, id, identifier = null } = membersOf(resource)
    if (resourceType !== 'Patient') return []
    const url = textOf(fullUrl)
    const ids = [textOf(id), url.replace(/^.*[/:]/, '')].flatMap((one) => [one, `urn:uuid:${one}`])
    const identifiers = elements(identifier).flatMap((one) => {
      const { system, value } = membersOf(one)
      return [`${textOf(system)}|${textOf(value)}`, `|${textOf(value)}`]
    })
    const searches = identifiers.map((one) => `Patient?identifier=${one}`)
    return [{ url, names: new Set([url, ...ids, ...identifiers, ...searches]) }]
  })
  const named = patients.find(({ names }) => names.has(reference) || names.has(`|${reference}`))
  const [only] = patients.length === 1 ? patients : []
  return named ?? only ?? { url: '', names: new Set([reference, `|${reference}`]) }
}

const SERVER = /^https?:/

function isAbout({ reference, identifier }: Members, { url, names }: Person): boolean {
  const { system, value } = membersOf(identifier)
  const named = textOf(value) === '' ? '' : `${textOf(system)}|${textOf(value)}`
  const text = textOf(reference).replace(/\/_history\/[^/]*$/, '') || named
  if (text === '' || names.has(text)) return true
  // An equal id on another server is another person.
  if (SERVER.test(text) && SERVER.test(url)) return false
  const read = readReference(text)
  return 'reference' in read && names.has(read.reference)
}
