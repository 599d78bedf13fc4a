import { expect, it } from 'vitest'
import { ContentDetail, ContentListItem } from '../../../src/gateway/contract/content.ts'
import { Envelope } from '../../../src/gateway/contract/envelope.ts'

const item = {
  id: 'c-1',
  resourceId: 'r-1',
  type: 'article',
  title: 'Sleep',
  uri: '/articles/sleep',
  primaryTag: { type: 'topic', id: 't-1' },
}
const detail = {
  ...item,
  body: '<p>Sleep well.</p>',
  attribution: { byLine: 'By the editors', option: 'o', byLineUrl: 'https://content.example/editors' },
  image: { id: 'i-1', title: 'A bed', url: 'https://content.example/bed.png' },
}

it.each([
  ['list item', ContentListItem, item],
  ['detail', ContentDetail, detail],
  ['detail with nothing added', ContentDetail, item],
  ['ids that are numbers', ContentDetail, { ...detail, id: 1, resourceId: 2, primaryTag: { id: 3 } }],
  [
    'unknown fields',
    ContentDetail,
    { ...detail, more: 1, image: { more: 2 }, attribution: { more: 3 }, primaryTag: { more: 4 } },
  ],
  ['envelope with an integer code', Envelope(ContentDetail), { code: 200, message: 'OK', data: [detail] }],
])('%s', (_name, schema, value) => {
  expect(schema.parse(value)).toEqual(value)
})

it.each([
  [ContentListItem, { ...item, id: undefined }],
  [ContentListItem, { ...item, id: '' }],
  [ContentDetail, { ...detail, id: null }],
])('case %#: without its id an item could not be read', (schema, value) => {
  const issues = schema.safeParse(value).error?.issues.map((issue) => issue.path[0])
  expect(new Set(issues)).toEqual(new Set(['id']))
})

it.each([
  ['resourceId', null],
  ['type', 1],
  ['title', null],
  ['uri', {}],
  ['primaryTag', 'topic'],
  ['body', null],
  ['attribution', 'By the editors'],
  ['image', 'https://content.example/bed.png'],
])('%s reads as undefined where its form is another', (field, value) => {
  expect(ContentDetail.parse({ ...detail, [field]: value })).toEqual({ ...detail, [field]: undefined })
})

it.each([
  ['primaryTag', { type: 1, id: 't-1' }, { type: undefined, id: 't-1' }],
  ['attribution', { byLine: 'b', option: 1, byLineUrl: null }, { byLine: 'b' }],
  ['image', { id: 'i-1', title: null, url: 1 }, { id: 'i-1' }],
])('the rest of %s stands beside a field of another form', (field, value, expected) => {
  expect(ContentDetail.parse({ ...detail, [field]: value })).toEqual({ ...detail, [field]: expected })
})
