/** Why a delivery is not attempted before its next time, for people. */
export const NEXT_REASONS = {
  due: '',
  retry: 'a retry',
  receiver_unavailable: 'the receiver is unavailable',
} as const
