import { providerContract } from '@svc/testkit/provider'
import { describe, it } from 'vitest'
import { jsonHarness, queryHarness } from './gateway.ts'

providerContract('http, a gateway with JSON', { describe, it }, jsonHarness)
providerContract('http, a gateway with queries', { describe, it }, queryHarness)
