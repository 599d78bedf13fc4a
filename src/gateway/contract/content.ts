import { z } from 'zod'
import { textsAsRead, tolerated } from './shared-objects.ts'

/** Id in the content service. The interface does not say whether ids are strings or numbers. */
export const ContentId = z.union([z.string().min(1), z.int()])
export type ContentId = z.infer<typeof ContentId>

/**
 * Section "Content item": item of `data[]` of GET /content/distribution/article. `id` is needed: it is assumed to be the `contentId` for
 * reading the detail. The interface lists no values of `type`, and does not say whether `uri` is absolute.
 */
export const ContentListItem = z.looseObject({
  id: ContentId,
  resourceId: tolerated(ContentId),
  ...textsAsRead('type', 'title', 'uri'),
  primaryTag: tolerated(z.looseObject({ type: tolerated(z.string()), id: tolerated(ContentId) })),
})
export type ContentListItem = z.infer<typeof ContentListItem>

/**
 * Section "Content item": item of `data[]` of GET /content/distribution/article/{contentId}, which adds text, source and image. `body` is
 * HTML from the service: sanitise it before showing it.
 */
export const ContentDetail = ContentListItem.extend({
  body: tolerated(z.string()),
  attribution: tolerated(z.looseObject(textsAsRead('byLine', 'option', 'byLineUrl'))),
  image: tolerated(z.looseObject({ id: tolerated(ContentId), ...textsAsRead('title', 'url') })),
})
export type ContentDetail = z.infer<typeof ContentDetail>
