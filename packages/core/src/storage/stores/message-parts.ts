import { and, desc, eq, inArray } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { MessagePartReads } from '../ports/message-parts.ts'
import { filledUp } from './batches.ts'

export function messagePartStore(db: Db, { message_parts: t }: Tables): MessagePartReads {
  return {
    async byProvider(provider, ids) {
      if (ids.length === 0) return []
      const known = and(eq(t.provider, provider), inArray(t.provider_message_id, filledUp(ids)))
      return db.select().from(t).where(known).orderBy(desc(t.created_at), desc(t.message_id))
    },
  }
}
