import { z } from 'zod'
import { textsAsRead, tolerated } from './shared-objects.ts'

/** An id in the content service. The interface does not say whether it is a string or a number. */
export const ContentId = z.union([z.string().min(1), z.int()])
export type ContentId = z.infer<typeof ContentId>

/**
 * Section "Content item": an item of `data[]` of GET /content/distribution/article. `id` is needed: it is taken to be
 * the `contentId` by which the detail is read. The values of `type` are not listed, nor is it said whether `uri` is
 * absolute.
 */
export const ContentListItem = z.looseObject({
  id: ContentId,
  resourceId: tolerated(ContentId),
  ...textsAsRead('type', 'title', 'uri'),
  primaryTag: tolerated(z.looseObject({ type: tolerated(z.string()), id: tolerated(ContentId) })),
})
export type ContentListItem = z.infer<typeof ContentListItem>

/**
 * Section "Content item": the item of `data[]` of GET /content/distribution/article/{contentId}, which adds text, source
 * and image. `body` is HTML as the service holds it: clean it before it is shown.
 */
export const ContentDetail = ContentListItem.extend({
  body: tolerated(z.string()),
  attribution: tolerated(z.looseObject(textsAsRead('byLine', 'option', 'byLineUrl'))),
  image: tolerated(z.looseObject({ id: tolerated(ContentId), ...textsAsRead('title', 'url') })),
})
export type ContentDetail = z.infer<typeof ContentDetail>
