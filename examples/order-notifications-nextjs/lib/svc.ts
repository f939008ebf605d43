import { Svc } from '@svc/client'

/** The client of the service at `SVC_URL`, with the key `SVC_API_KEY`. */
export const svc = new Svc()
