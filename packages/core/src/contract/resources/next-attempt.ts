/**
 * Why a delivery is not attempted before its next time: `due` for its turn, `retry` after a failed attempt, `receiver_unavailable`
 * while the receiver gets nothing.
 */
export const NEXT_ATTEMPT_REASONS = ['due', 'retry', 'receiver_unavailable'] as const
