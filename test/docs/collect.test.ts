/** What docs/collect.md says that CSV leaves out, against the fields of the interface and the columns of each kind. */
import { expect, it } from 'vitest'
import { KINDS, kindOf } from '../../src/collect/kinds.ts'
import { page, tableRows } from './pages.ts'

type CollectedKind = Parameters<typeof kindOf>[0]

const SOURCE = ['source.name', 'source.type', 'source.notes', 'source.meta']
/** Section by section of the interface: "as read", "as returned", results, questions, recommendations, ROI, content. */
const FIELDS: Readonly<Record<CollectedKind, readonly string[]>> = {
  biometrics: [
    ...['id', 'accountReference', 'created', 'updated', 'name', ...SOURCE],
    ...['observationDate', 'value', 'unit', 'codes'],
  ],
  conditions: ['account', 'name', 'codes', 'observationDate', ...SOURCE, 'createDate', 'updateDate', 'id'],
  careTeams: [
    ...['id', 'userId', 'profile', 'createDate', 'updateDate', 'name', 'npi', 'zip', 'city', 'address'],
    ...['location', 'phoneNumber', 'type', 'pcp', 'observationDate', 'hydrateCareTeams', ...SOURCE],
  ],
  ageResult: [
    'status',
    ...['bioAge', 'calendarAge', 'bioAgeDelta'].flatMap((age) => [`${age}.year`, `${age}.month`]),
    'completed',
  ],
  completedQuestions: ['id', 'assessmentId', 'account', 'created', 'assessmentType', 'questions'],
  recommendations: ['teaser', 'benefitCost', 'body'],
  requestStatus: [
    ...['referenceNumber', 'patient', 'provider', 'request.type', 'request.requestType'],
    ...['request.requestSubType', 'request.datesOfService', 'request.disclosures', 'webhook'],
    ...['status.documentAvailable', 'status.status', 'status.updated', 'status.processed'],
    ...['status.processedPlatform', 'status.authorizationName', 'authorizationUploadUrl'],
  ],
  articles: [
    ...['id', 'resourceId', 'type', 'title', 'uri', 'primaryTag.type', 'primaryTag.id', 'body'],
    ...['attribution.byLine', 'attribution.option', 'attribution.byLineUrl'],
    ...['image.id', 'image.title', 'image.url'],
  ],
}

it.each(Object.keys(KINDS) as CollectedKind[])('%s.csv leaves out what the page says', (kind) => {
  const row = tableRows(page('docs/collect.md')).find(([file]) => file === `\`${kind}.csv\``)
  const said = [...(row?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, field]) => field)
  const { columns } = kindOf(kind)
  expect(row).toBeDefined()
  expect(said.toSorted()).toEqual(FIELDS[kind].filter((field) => !columns.includes(field)).toSorted())
})
