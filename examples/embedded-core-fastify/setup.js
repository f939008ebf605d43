// Creates the workspace and the API key of the app, and prints the key: run it once.
import { openCore } from './core.js'

const core = await openCore()
const { id } = await core.workspaces.create({
  email: 'ops@example.com',
  password: process.env.OPS_PASSWORD,
  company_name: 'Example',
})
const { key } = await core.apiKeys.create(id, {
  name: 'bookings',
  scopes: ['send_messages', 'read_messages'],
  mode: 'live',
})
await core.close()
console.log(key)
