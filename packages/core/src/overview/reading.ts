import type { Channel } from '../contract/resources/content.ts'
import type { Overview, Overviews, Troubles } from './overview.ts'

/** The state of the service at one moment. */
export interface Reading {
  overview: Overview
  troubles: Troubles
}

/** Reads once, with at most `limit` failing webhooks and `limit` failed messages. */
export async function readOnce(
  { overviews }: { overviews: Overviews },
  { limit, channel }: { limit: number; channel: Channel | null },
): Promise<Reading> {
  const [overview, troubles] = await Promise.all([
    overviews.overview(),
    overviews.troubles(limit, { channel: channel ?? undefined }),
  ])
  return { overview, troubles }
}
