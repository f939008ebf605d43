/** The secret of the webhooks in tests, and another secret. */
export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
export const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
