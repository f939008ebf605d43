import pg from 'pg'
import { parsers } from '../src/storage/postgres/engine/parsers.ts'

/** A connection of one's own, on which values arrive as the storage has them; its loss is learnt from the next question. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, types: parsers })
  client.on('error', () => {})
  await client.connect()
  return client
}
