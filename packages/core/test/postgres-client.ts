import pg from 'pg'
import { parsers } from '../src/storage/postgres/engine/parsers.ts'

/** A separate connection with the value parsers of the storage; after its loss the next query fails. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, types: parsers })
  client.on('error', () => {})
  await client.connect()
  return client
}
