ALTER TABLE "operators" ADD COLUMN "totp_secret" text;--> statement-breakpoint
ALTER TABLE "operators" ADD COLUMN "totp_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "operators" ADD COLUMN "totp_step" bigint;--> statement-breakpoint
ALTER TABLE "operators" ADD COLUMN "recovery_hashes" json;