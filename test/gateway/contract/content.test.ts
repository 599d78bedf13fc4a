import { expect, it } from 'vitest'
import { ContentDetail, ContentListItem } from '../../../src/gateway/contract/content.ts'
import { Envelope } from '../../../src/gateway/contract/shared-objects.ts'

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
