ALTER TABLE "invitations" ADD COLUMN "invited_by" text;--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invited_by" text;--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "invited_at" timestamp (3) with time zone;