/** The statuses of a message in their order. Source: interface, Message status. */
export const MESSAGE_STATUSES = ['queued', 'sent', 'delivered', 'failed', 'read'] as const

/** The status of a message. */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number]
